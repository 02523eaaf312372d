"""Check a store against the conventions that it declares."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Unpack

from msgspec.structs import replace

from zarr_xgroup._requirements import missing_package
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.pyramids import Pyramid, pyramids_of
from zarr_xgroup.datasets.undeclared import forgotten_declarations
from zarr_xgroup.findings import Finding, Place, group_findings
from zarr_xgroup.metadata.cf import DECODED_BY
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.opening import Opening, opening
from zarr_xgroup.options import TreeReportOptions, with_report_options_shown
from zarr_xgroup.redaction import chain_of, printable
from zarr_xgroup.report.explaining import found_references
from zarr_xgroup.report.results import Verdict
from zarr_xgroup.report.rules import CheckedStore, arrays, grids, mistakes_of, references, stores
from zarr_xgroup.report.rules.undeclared import check_causes, check_undeclared
from zarr_xgroup.variables.stored import members_as_zarr_writes


@with_report_options_shown
def check(filename_or_obj: Any, **options: Unpack[TreeReportOptions]) -> Verdict:
    """Check the metadata of a store against the documents of its conventions.

    The metadata documents are read, and the values that opening reads: dimension coordinates, and the first and last
    values of times and of coordinates for which a transform is declared. If the store has consolidated metadata, the nodes'
    own documents are read as well, and compared.

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store, as for `xarray.open_datatree` with ``engine="xgroup"``.
    **options
        The options of `xarray.open_datatree`: ``group`` (checked with all groups below it), ``group_filter``,
        ``consolidated``, ``storage_options``, ...

    Returns
    -------
    Verdict
        The problems to fix, errors first. It prints as text.

    Raises
    ------
    XGroupError
        If the store or group does not exist or cannot be read, as for `xarray.open_datatree`.

    Examples
    --------
    >>> import zarr_xgroup
    >>> verdict = zarr_xgroup.check(store)  # doctest: +SKIP
    >>> verdict.is_clean  # doctest: +SKIP
    True
    """
    with opening(filename_or_obj, options, TreeReportOptions) as call:
        plans = call.plan_tree()
        tree, groups = call.library.tree, [plan.node for plan in plans]
        if call.group_filter is None:  # all levels of pyramids, whatever `resolution` chooses
            groups = list(tree.subtree(Node(0, call.group)))
        checked = CheckedStore(tree, groups, call.assumed_in(plans))
        # Exceptions are never equal; without them, verdicts can be compared.
        findings = group_findings(_all_mistakes(call, plans, checked))
        mistakes = [replace(mistake, error=None) for mistake in findings]
        mistakes.sort(key=lambda mistake: (mistake.severity != "error", mistake.place.node))
        name, is_declared = tree.stores[0].name, checked.declares_something
        undeclared = () if is_declared else call.undeclared(plans)
        without = tuple(printable(str(array.node)) for array in undeclared if array.bare)
        return Verdict(name, f"/{call.group}", tuple(mistakes), is_declared, without)


def _pyramids(call: Opening, plans: list[GroupPlan]) -> Iterable[Pyramid]:
    """Return the pyramids that have stored coordinates beside declared cell sizes, measured by the stored ones."""
    readings = {plan.node: plan.reading for plan in plans}
    pyramids = pyramids_of(readings, readings, call.tree, call.assumed)
    groups = [
        node
        for node, pyramid in pyramids.items()
        if any(level.stored and level.declared for level in pyramid.levels)
    ]
    return pyramids_of(groups, readings, call.tree, call.assumed, call.steps).values()


def _all_mistakes(
    call: Opening, plans: list[GroupPlan], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield all mistakes in a store, not grouped.

    The order matters: rules about references, and the findings of opening, omit places that rules about nodes report.
    """
    library, tree = call.library, call.library.tree
    builder = call.builder()
    undeclared = call.undeclared(plans, is_tree=True, also=builder.reading(plans))
    faults = list(_faults(builder, plans))
    checked.faulty = {fault.place.node for fault in faults}
    mistakes = [mistake for node in checked.nodes() for mistake in mistakes_of(checked, node)]
    mistakes += list(references.check(found_references(plans, tree), mistakes, checked))
    mistakes += check_causes(undeclared, checked)
    yield from mistakes
    yield from chain.from_iterable(map(arrays.check_degrees, plans))
    positions = list(grids.check_positions(checked, call.ends))
    yield from positions
    yield from grids.check_cell_sizes(_pyramids(call, plans), positions)
    yield from chain.from_iterable(map(arrays.check_own_coordinates, plans))
    # The findings of opening that no rule has reported.
    if not checked.declares_something:
        by_group = call.undeclared(plans)
        yield from check_undeclared(by_group, call.assumed_interpretations(plans, by_group))
    of_plans = chain.from_iterable(plan.findings for plan in plans)
    findings = chain(library.findings, of_plans, faults, forgotten_declarations(undeclared, tree))
    yield from stores.mistakes_of_opening(findings, mistakes, checked)
    if tree.stores[0].consolidated_at is not None:
        is_part = call.group_filter is not None
        own = library.read_own_documents(checked.groups, is_part=is_part)
        others = () if is_part else tree.subtree(Node(own, call.group))
        groups = (group.path for group in (*checked.groups, *others))
        yield from stores.differences_of_consolidated(tree, own, groups, members_as_zarr_writes)


def _faults(builder: Builder, plans: Iterable[GroupPlan]) -> Iterator[Finding]:
    """Yield the findings about variables that xarray cannot decode, or whose values for an index are missing.

    Mistakes in the attributes with which xarray decodes a variable explain them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of xarray
        for plan in plans:
            for fault in builder.dataset(plan)[1]:
                if fault.error is not None and missing_package(chain_of(fault.error)):
                    continue  # not a mistake in the store
                pointers = (f"/attributes/{key}" for key in DECODED_BY)
                related = tuple(Place(fault.place.node, pointer) for pointer in pointers)
                yield replace(fault, related=related)
