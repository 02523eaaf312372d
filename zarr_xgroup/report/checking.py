"""Checking a store against the conventions that it declares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Unpack

from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.undeclared import forgotten_declarations, undeclared_data_arrays
from zarr_xgroup.findings import Finding, group_findings
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.opening import Opening, opening
from zarr_xgroup.options import TreeReportOptions, with_report_options_shown
from zarr_xgroup.report.explaining import found_references
from zarr_xgroup.report.results import Verdict
from zarr_xgroup.report.rules import CheckedStore, arrays, mistakes_of, references, stores
from zarr_xgroup.variables.stored import members_as_zarr_writes


@with_report_options_shown
def check(filename_or_obj: Any, **options: Unpack[TreeReportOptions]) -> Verdict:
    """Check what a store declares against the documents of its conventions.

    Reads metadata documents, and no chunk. If the store has consolidated metadata, the nodes' own
    documents are read as well, to compare the two.

    Parameters
    ----------
    filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store, as for `xarray.open_datatree` with ``engine="xgroup"``.
    **options
        Those of `xarray.open_datatree`: ``group`` (checked with all groups below it), ``group_filter``
        (chooses groups of the tree), ``consolidated``, ``storage_options``, ...

    Returns
    -------
    Verdict
        The problems to fix, errors first. It prints as text.

    Raises
    ------
    XGroupError
        As an open raises: if there is no such store or group, or it cannot be read.

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
        # Without the errors behind them, of which no two are equal: a verdict is a value.
        found = group_findings(_all_mistakes(call, plans, checked))
        mistakes = [replace(mistake, error=None) for mistake in found]
        mistakes.sort(key=lambda mistake: (mistake.severity != "error", mistake.place.node))
        name = tree.stores[0].name
        verdict = Verdict(name, f"/{call.group}", tuple(mistakes), checked.declares_something)
        call.library.close()
    return verdict


def _all_mistakes(
    call: Opening, plans: list[GroupPlan], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield all mistakes in a store, not grouped.

    The order matters: rules about references, and about what an open finds, leave out what rules about nodes
    report at the same place.
    """
    library, tree = call.library, call.library.tree
    found = [mistake for node in checked.nodes() for mistake in mistakes_of(checked, node)]
    found += list(references.check(found_references(plans, tree), found, checked))
    yield from found
    yield from chain.from_iterable(map(arrays.check_degrees, plans))
    # What an open finds and no rule has reported.
    lacking = undeclared_data_arrays(plans, call.interpreter, is_tree=True)
    of_plans = chain.from_iterable(plan.findings for plan in plans)
    findings = chain(library.findings, of_plans, forgotten_declarations(lacking, tree))
    yield from stores.mistakes_found_by_open(findings, found, checked)
    if tree.stores[0].consolidated_at is not None:
        # Consolidated metadata against the nodes' own documents.
        is_part = call.group_filter is not None
        own = library.read_own_documents(checked.groups, is_part=is_part)
        others = () if is_part else tree.subtree(Node(own, call.group))
        groups = (group.path for group in (*checked.groups, *others))
        yield from stores.differences_of_consolidated(tree, own, groups, members_as_zarr_writes)
