"""The steps of one open call: read, interpret, plan, build, report.

`explain` and `check` use the same class and stop after the third step. With the option `resolution`, the groups of all levels
are interpreted first, and the first and last values of their stored coordinates are read, because cell sizes follow from them
(`pyramids`). For a tree, `with_times` finds the arrays that all referring arrays declare to be times. Warnings are given when the
result is complete.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

import xarray as xr
import zarr

from zarr_xgroup._compat import default_indexes_follow
from zarr_xgroup.conventions import handlers
from zarr_xgroup.conventions.model import Inherited, Interpretation
from zarr_xgroup.conventions.multiscales import Layout
from zarr_xgroup.conventions.registry import AUTO, named_conventions
from zarr_xgroup.datasets.align import GroupCoordinates, align_with_parents
from zarr_xgroup.datasets.attributes import apply_convention_attrs
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.interpretation import GroupReading, Interpreter
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.planning import plan_groups
from zarr_xgroup.datasets.pyramids import (
    Pyramid,
    choices_in_tree,
    group_of_level,
    layout_at,
    no_pyramid,
    pyramids_of,
)
from zarr_xgroup.datasets.times import with_times
from zarr_xgroup.datasets.undeclared import (
    Undeclared,
    undeclared_data_arrays,
    undeclared_findings,
)
from zarr_xgroup.errors import (
    XGroupError,
    XGroupGroupError,
    XGroupStoreError,
    XGroupWarning,
    warn_user,
)
from zarr_xgroup.findings import Finding, as_warnings
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import GroupFilter, path_in_tree
from zarr_xgroup.options import (
    DecodingOptions,
    OpenOptions,
    OpenTreeOptions,
    ReportOptions,
    TreeReportOptions,
    convention_attrs_of,
    group_filter_of,
    problems_of,
    resolution_of,
    settled_options,
)
from zarr_xgroup.redaction import redact_causes
from zarr_xgroup.storage.failures import suggesting
from zarr_xgroup.storage.library import Library, ValuesNeeded
from zarr_xgroup.storage.reading import Reading, wait
from zarr_xgroup.variables.factory import MOST_VALUES, VariableFactory
from zarr_xgroup.variables.sources import Stored

#: The names of the options that are passed on to xarray.
_DECODING = DecodingOptions.__annotations__.keys()


class Opening:
    """One open call: reads, interprets and plans groups, and builds Datasets of the plans.

    `explain` and `levels` stop after planning; `check` builds Datasets only to find what cannot be decoded.

    Parameters
    ----------
    options : OpenTreeOptions
        The options of the call. All are checked here, before anything is read.

    Attributes
    ----------
    group : str
        The path of the requested group in the store, "" until the store is opened.
    dropped : frozenset of str
        The names of `drop_variables`.
    assumed : frozenset of str
        The conventions in the option `assume_conventions`, which may include `AUTO`.
    with_indexes : bool
        Whether xarray will build indexes, for which coordinates are read.
    findings : list of Finding
        Findings that are not in a plan.
    """

    def __init__(self, options: OpenTreeOptions) -> None:
        decoding: Any = {key: value for key, value in options.items() if key in _DECODING}
        self.decoding: DecodingOptions = decoding
        dropped = options.get("drop_variables") or ()
        self.dropped = frozenset([dropped] if isinstance(dropped, str) else dropped)
        self.assumed = named_conventions(options.get("assume_conventions"))
        self.convention_attrs = convention_attrs_of(options.get("convention_attrs"))
        self.problems = problems_of(options.get("problems"))
        self.resolution = resolution_of(options.get("resolution"))
        self.group_filter = group_filter_of(options)
        self.with_indexes = True
        self.group = ""
        self.findings: list[Finding] = []
        self.library = Library(options)
        self.tree, masks = self.library.tree, options.get("use_zarr_fill_value_as_mask")
        self.factory = VariableFactory(self.tree, self.library.zarr_store, fill_value_masks=masks)
        self.interpreter = self._interpreter_without(())

    def dataset(self) -> xr.Dataset:
        """Return the group as a Dataset."""
        self.with_indexes = default_indexes_follow()
        plans = deque(self.plan_group())
        if self.library.array:
            plans = deque(plan.of_array(self.library.array) for plan in plans)
        warning = self.library.warning_if_empty(plans[0].node)
        (dataset,) = self._built(plans).values()
        self._report(() if warning is None else [warning])
        return dataset

    def datasets(self) -> dict[str, xr.Dataset]:
        """Return the group and all groups below it as Datasets, by path from the group ("/")."""
        self.with_indexes = default_indexes_follow()
        datasets = self._built(deque(self.plan_tree(is_tree=False)))
        self._report()
        return datasets

    def datatree(self) -> xr.DataTree:
        """Return the group and all groups below it as a tree."""
        self.with_indexes = default_indexes_follow()
        plans = deque(self.plan_tree())
        described = {
            path_in_tree(plan.node.path, self.group): GroupCoordinates.of(plan) for plan in plans
        }
        datasets = self._built(plans, is_tree=True)
        datasets, findings = align_with_parents(datasets, described, self.group)
        self.findings += findings
        # DataTree copies a Dataset: drop each after it was copied.
        nodes = {path: xr.DataTree(datasets.pop(path)) for path in list(datasets)}
        children: defaultdict[str, dict[str, xr.DataTree]] = defaultdict(dict)
        for path, node in nodes.items():
            node.set_close(self.library.closer)
            if path != "/":
                parent, _slash, name = path.rpartition("/")
                children[parent or "/"][name] = node
        for parent, named in children.items():  # parents first: groups below are not checked again
            nodes[parent].children = named
        self._report()
        return nodes["/"]

    # Read, interpret and plan.

    def plan_group(self) -> list[GroupPlan]:
        """Return a list of one plan: of the requested group, or of its level chosen by `resolution`."""
        group = Node(0, self.group)
        if self.resolution is None:
            self.library.read_group(self.group)
        else:
            level, others, findings = self.pyramid().choice(self.resolution)
            group = level.group
            self._leave_out(others, findings)
        return self._planned(self._interpreted([group]))

    def plan_tree(self, *, is_tree: bool = True) -> list[GroupPlan]:
        """Return the plans of the requested group and of all groups below it, parents first.

        `is_tree` is whether the plans are for a DataTree. If so, groups inherit the coordinates of their parents,
        and times may be decoded with the units that arrays in other groups declare.
        """
        top = Node(0, self.group)
        groups: Iterable[Node]
        with suggesting(_("To open a part of the tree, use group or group_filter")):
            if self.group_filter is not None:
                groups = self.library.read_filtered(GroupFilter(self.group_filter, self.group))
            else:
                self.library.read_tree(self.group)
                if self.resolution is not None:
                    readings = self._interpreted(self.tree.subtree(top))
                    settings = self.assumed, self.resolution, self.steps
                    self._leave_out(*choices_in_tree(top, readings, self.tree, *settings))
                groups = self.tree.subtree(top, self.interpreter.passed_over)
            readings = self._interpreted(groups)
        return self._planned(with_times(readings) if is_tree else readings)

    def pyramid(self) -> Pyramid:
        """Return the pyramid (multiscales) of the requested group; raise XGroupGroupError if it has none."""
        group, tree = Node(0, self.group), self.tree

        def levels_of(layout: Layout | None) -> list[Node]:
            return [] if layout is None else [group.child(asset) for asset in layout.items]

        self.library.read_group(self.group, to_list=levels_of(layout_at(group, tree, self.assumed)))
        layout = layout_at(group, tree, self.assumed)
        nodes = levels_of(layout)
        levels = self.library.ask(lambda: [group_of_level(node, tree) for node in nodes])
        readings = self._interpreted(dict.fromkeys(level for level in levels if level))
        by_group = {reading.node: reading for reading in readings}
        with suggesting(_("To open a level, use its path as group, without resolution")):
            pyramids = pyramids_of([group], by_group, tree, self.assumed, self.steps)
        if group not in pyramids:
            raise no_pyramid(group, layout, tree)
        return pyramids[group]

    def ends(self, arrays: Iterable[Node]) -> dict[Node, tuple[float, float]]:
        """Return the first and last values of 1-D arrays of numbers, unpacked; other arrays are left out.

        Raises XGroupStoreError if values cannot be read.
        """
        read: dict[tuple[Node, ValuesNeeded], zarr.Array[Any]] = {}
        for node in dict.fromkeys(arrays):
            with suppress(XGroupError):
                array = self.factory.zarr_objects(node)[2]
                is_small = prod(array.chunks) <= MOST_VALUES
                if array.ndim == 1 and array.size > 1 and array.dtype.kind in "iuf" and is_small:
                    read[node, "ends"] = array
        ends = {}
        for (node, _part), values in wait(self.library.read_values(read)).items():
            if isinstance(values, XGroupStoreError):
                raise values
            with suppress(XGroupError):
                first, last = self.factory.positions(node, values)
                ends[node] = float(first), float(last)
        return ends

    def steps(self, arrays: Iterable[Node]) -> dict[Node, float]:
        """Return the mean step of the values of 1-D arrays of numbers, from their first and last values."""
        ends = self.ends(arrays)
        steps = {}
        for node, (first, last) in ends.items():
            (size,) = self.factory.sizes(Stored(node, ("i",))).values()
            steps[node] = (last - first) / (size - 1)
        return steps

    def undeclared(
        self,
        plans: Collection[GroupPlan],
        *,
        is_tree: bool = False,
        also: Reading | None = None,
    ) -> list[Undeclared]:
        """Return the data arrays without a principal convention, and the conventions that would help.

        `also` is read at the same time as the first documents.
        """
        interpreter = self.interpreter
        return self.library.ask(
            lambda: list(undeclared_data_arrays(plans, interpreter, is_tree=is_tree)), also
        )

    def assumed_interpretations(
        self, plans: Iterable[GroupPlan], undeclared: Collection[Undeclared]
    ) -> dict[Node, Interpretation]:
        """Return the interpretations of undeclared arrays by the conventions whose marks they have."""
        dims, sizes = {}, dict[Node, dict[str, dict[str, int]]]()
        for plan in plans:
            sizes[plan.node] = {array.node.name: array.sizes for array in plan.reading.arrays}
            dims.update({array.node: array.dims for array in plan.reading.arrays})

        def interpretation(array: Undeclared) -> Interpretation:
            node = array.node
            view = self.interpreter.view(node, dims[node], siblings=sizes[node.group])
            view.assumed = frozenset(array.assumable)
            own = Inherited(view.dims)
            return self.interpreter.handlers.interpret(view, own).interpretation

        marked = [array for array in undeclared if array.assumable]
        return self.library.ask(lambda: {array.node: interpretation(array) for array in marked})

    def assumed_in(self, plans: Iterable[GroupPlan]) -> frozenset[str]:
        """Return the names of the conventions that are assumed for at least one array of groups."""
        by_arrays = (array.assumed for plan in plans for array in plan.reading.arrays)
        return frozenset(self.assumed - {AUTO}).union(*by_arrays)

    def _interpreted(self, nodes: Iterable[Node]) -> list[GroupReading]:
        """Return the readings of groups, after reading all documents that they depend on."""
        groups, interpreter = list(nodes), self.interpreter
        return self.library.ask(lambda: interpreter.interpret(groups))

    def _planned(self, readings: Iterable[GroupReading]) -> list[GroupPlan]:
        return plan_groups(readings, self.factory, with_indexes=self.with_indexes)

    def _leave_out(self, nodes: Iterable[Node], findings: Iterable[Finding]) -> None:
        """Leave out the groups and arrays of levels that were not chosen by `resolution`."""
        self.findings += findings
        self.tree.memo.forget()
        self.interpreter = self._interpreter_without(nodes)

    def _interpreter_without(self, nodes: Iterable[Node]) -> Interpreter:
        return Interpreter(
            self.tree, self.factory, handlers(), self.dropped, self.assumed, frozenset(nodes)
        )

    # Build.

    def builder(self) -> Builder:
        """Return a builder of Datasets with the options of the call."""
        arguments = self.library, self.factory, self.decoding, self.dropped
        return Builder(*arguments, with_indexes=self.with_indexes)

    def _built(self, plans: deque[GroupPlan], *, is_tree: bool = False) -> dict[str, xr.Dataset]:
        """Return the Datasets of plans, by path from the requested group. Empties `plans`."""
        above = (self.tree.document_if_read(group) for group in plans[0].node.ancestors())
        inherited = [document.attributes for document in above if document is not None]
        builder = self.builder()
        undeclared = self.undeclared(plans, is_tree=is_tree, also=builder.reading(plans))
        array = self.library.array
        if array:
            undeclared = [it for it in undeclared if it.node.name == array]
        undeclared_arrays = list(undeclared_findings(undeclared))
        assumed = {
            path_in_tree(plan.node.path, self.group): self.assumed_in([plan]) for plan in plans
        }

        datasets: dict[str, xr.Dataset] = {}
        while plans:
            # Thousands of plans take as much memory as their Datasets: drop each plan once it is built.
            plan = plans.popleft()
            dataset, findings = builder.dataset(plan)
            if array:
                dataset = self._of_array(dataset, [*plan.findings, *findings])
            dataset.set_close(self.library.closer)
            datasets[path_in_tree(plan.node.path, self.group)] = dataset
            self.findings += [*plan.findings, *findings]
        apply_convention_attrs(datasets, self.convention_attrs, inherited, assumed)
        self.findings += undeclared_arrays
        return datasets

    def _of_array(self, dataset: xr.Dataset, findings: Iterable[Finding]) -> xr.Dataset:
        """Return the array that the address names with its coordinates; raise XGroupGroupError if it was left out."""
        node = Node(0, self.group).child(self.library.array)
        if node.name not in dataset.variables:
            reasons = (finding.text for finding in findings if str(node) in finding.arrays)
            message = _("{store}: the array {path!r} cannot be opened: {reason}").format(
                store=self.tree.stores[0].name, path=str(node), reason=next(reasons, _("not found"))
            )
            raise XGroupGroupError(message)
        return dataset[[node.name]]

    # Report.

    def _report(self, warnings: Iterable[XGroupWarning] = ()) -> None:
        """Give warnings, then one warning for each cause of the findings.

        Raises
        ------
        XGroupError
            With ``problems="raise"``, if at least one finding is an error. Its text lists these findings.
        """
        findings, problems = [*self.library.findings, *self.findings], list[Finding]()
        hint = _('(problems="raise" makes this an error)')
        if self.problems == "raise":
            problems = [finding for finding in findings if finding.severity == "error"]
            findings = [finding for finding in findings if finding.severity != "error"]
        for warning in (*warnings, *as_warnings(findings, hint)):
            warn_user(warning)
        if lines := [str(warning) for warning in as_warnings(problems)]:
            text = _('{store} has problems (problems="raise"):')
            raise XGroupError(text.format(store=self.tree.stores[0].name), *lines)


@contextmanager
def opening(
    store_like: Any, options: ReportOptions, kind: type[ReportOptions] = OpenOptions
) -> Iterator[Opening]:
    """Open a store with options of type `kind`.

    On exit the documents are dropped. The store is closed if an exception is raised, or if `kind` is for a report, which
    needs it no longer.

    Raises
    ------
    TypeError, ValueError
        If an option does not exist, or its value is not valid.
    XGroupError
        If the store cannot be opened; see `Library.open`.
    """
    try:
        settled = settled_options(options, kind)
        call = Opening(settled)
        allows_array = kind is OpenOptions and call.resolution is None
        call.group = call.library.open(store_like, settled, allows_array=allows_array)
        try:
            yield call
        except BaseException:
            call.library.close()
            raise
        else:
            if kind in (ReportOptions, TreeReportOptions):
                call.library.close()
        finally:
            call.library.release()
    except XGroupError as error:
        redact_causes(error)
        raise
