"""Read, interpret and plan the groups of a store: what opens, explanations and checks have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import (
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from zarr_xgroup.conventions import handlers
from zarr_xgroup.conventions.multiscales import Layout
from zarr_xgroup.conventions.registry import AUTO, named_conventions
from zarr_xgroup.conventions.units import is_bare_unit_of_time
from zarr_xgroup.datasets.decode import why_not_times
from zarr_xgroup.datasets.interpretation import GroupReading, Interpreter
from zarr_xgroup.datasets.naming import plan_groups
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.pyramids import (
    Level,
    Pyramid,
    group_of_level,
    layout_at,
    no_pyramid,
    pyramid_of,
)
from zarr_xgroup.datasets.undeclared import Undeclared, undeclared_data_arrays
from zarr_xgroup.errors import XGroupError, XGroupGroupError
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.paths import GroupFilter
from zarr_xgroup.options import (
    DecodingOptions,
    OpenOptions,
    Pair,
    ReportOptions,
    StoreOptions,
    TreeReportOptions,
    convention_attrs_of,
    group_filter_of,
    resolution_of,
    settled_options,
)
from zarr_xgroup.redaction import redact_causes
from zarr_xgroup.storage.library import Library
from zarr_xgroup.variables.factory import VariableFactory

T = TypeVar("T", StoreOptions, DecodingOptions)


class Planning:
    """An open up to the plans of groups: read, interpret, plan.

    Attributes
    ----------
    dropped : frozenset of str
        The names of `drop_variables`.
    assumed : frozenset of str
        The conventions in the option `assume_conventions`, `AUTO` among them.
    """

    def __init__(self, store_like: Any, options: TreeReportOptions) -> None:
        self.decoding = _options_of(DecodingOptions, options)
        dropped = options.get("drop_variables") or ()
        self.dropped = frozenset([dropped] if isinstance(dropped, str) else dropped)
        self.assumed = named_conventions(options.get("assume_conventions"))
        self.convention_attrs = convention_attrs_of(options.get("convention_attrs"))
        self.resolution = resolution_of(options.get("resolution"))
        group_filter = group_filter_of(options)
        self.findings: list[Finding] = []
        # Last, so that nothing is read before all options are known to be valid.
        self.library, self.group = Library.open(store_like, _options_of(StoreOptions, options))
        self.group_filter = None if group_filter is None else GroupFilter(group_filter, self.group)
        self.tree, masks = self.library.tree, options.get("use_zarr_fill_value_as_mask")
        self.factory = VariableFactory(self.tree, self.library.zarr_store, fill_value_masks=masks)
        #: Groups and arrays of the levels of pyramids that `resolution` did not choose.
        self._passed_over: set[Node] = set()

    def plan_group(self, *, with_indexes: bool) -> list[GroupPlan]:
        """Return the plan of the group asked for, or of its level by `resolution`, as a list of one.

        `with_indexes` says whether indexes will be made, for which coordinates are read.
        """
        group = self.group
        if self.resolution is None:
            self.library.read_group(group)
        else:
            group = self._choose(self.pyramid(), self.resolution).group.path
        readings = self._interpreted([Node(0, group)])
        return plan_groups(readings, self.factory, with_indexes=with_indexes)

    def plan_tree(self, *, with_indexes: bool, is_tree: bool = True) -> list[GroupPlan]:
        """Return the plans of the group asked for and of all below it, parents first.

        `is_tree` says whether the plans are for a DataTree: then groups inherit the coordinates of their parents,
        and times are decoded by what the arrays of all groups declare of them, which a single group cannot know.
        """
        group = Node(0, self.group)
        groups: Iterable[Node]
        if self.group_filter is not None:
            groups = self.library.read_filtered(self.group_filter)
        else:
            self.library.read_tree(self.group)
            if self.resolution is not None:
                readings = self._interpreted(self.tree.subtree(group))
                self._choose_in_tree(readings, self.resolution)
            groups = self.tree.subtree(group, self._passed_over)
        readings = self._interpreted(groups)
        if is_tree:
            readings = with_times(readings)
        return plan_groups(readings, self.factory, with_indexes=with_indexes)

    def undeclared_data_arrays(
        self, plans: Collection[GroupPlan], *, is_tree: bool
    ) -> Iterator[Undeclared]:
        """Yield the undeclared data arrays of groups."""
        return undeclared_data_arrays(plans, self._interpreter(), is_tree=is_tree)

    def assumed_in(self, plans: Iterable[GroupPlan]) -> frozenset[str]:
        """Return the names of the conventions that are assumed for any array of groups."""
        by_arrays = (array.assumed for plan in plans for array in plan.reading.arrays)
        return frozenset(self.assumed - {AUTO}).union(*by_arrays)

    def pyramid(self) -> Pyramid:
        """Return the pyramid (multiscales) of the group asked for; raise XGroupGroupError if it has none."""
        self.library.read_group(self.group)
        group, tree = Node(0, self.group), self.tree
        layout = layout_at(group, tree, self.assumed)
        nodes = [] if layout is None else [group.child(asset) for asset in layout.items]
        levels = self.library.ask(lambda: [group_of_level(node, tree) for node in nodes])
        readings = self._interpreted(dict.fromkeys(level for level in levels if level))
        return self._pyramid_at(group, layout, {reading.node: reading for reading in readings})

    def _pyramid_at(
        self, group: Node, layout: Layout | None, readings: Mapping[Node, GroupReading]
    ) -> Pyramid:
        """Return the pyramid of a group by its layout and the readings of its levels; raise XGroupGroupError if it is none."""
        tree, found = self.tree, None
        if layout is not None:
            found = pyramid_of(group, layout, tree, readings)
        if found is None:
            raise no_pyramid(group, layout, tree)
        return found

    def _choose_in_tree(self, readings: Iterable[GroupReading], resolution: Pair) -> None:
        """Choose one level of each multiscales layout; where that fails, keep all levels and report why.

        Raises
        ------
        XGroupGroupError
            If no level of any layout can be chosen.
        """
        known = {reading.node: reading for reading in readings}
        errors, is_chosen = [], False
        # All layouts are found first: `_choose` hides levels, which may have layouts of their own.
        for node, layout in [(node, layout_at(node, self.tree, self.assumed)) for node in known]:
            if layout is None:
                continue
            try:
                self._choose(self._pyramid_at(node, layout, known), resolution)
                is_chosen = True
            except XGroupGroupError as error:
                errors.append(error)
                self.findings.append(report(Topic.CHOICE, node, str(error)))
        if not is_chosen:
            raise errors[0] if errors else no_pyramid(Node(0, self.group), None, self.tree)

    def _choose(self, pyramid: Pyramid, resolution: Pair) -> Level:
        """Return the level of a pyramid that fits a resolution; leave groups and arrays of the other levels out from now on."""
        level = pyramid.level(resolution)
        self._passed_over.update(pyramid.without_others(level))
        remarks = pyramid.remarks(level, resolution)
        self.findings.extend(report(Topic.CHOICE, pyramid.group, text) for text in remarks)
        return level

    def _interpreter(self) -> Interpreter:
        """Return the interpreter of the open, without the groups and arrays that are passed over."""
        return Interpreter(
            self.tree, self.factory, handlers(), self.dropped, self.assumed, self._passed_over
        )

    def _interpreted(self, nodes: Iterable[Node]) -> list[GroupReading]:
        """Return the readings of groups, after reading all documents that they depend on."""
        groups, interpreter = list(nodes), self._interpreter()
        return self.library.ask(lambda: interpreter.interpret(groups))


def with_times(readings: Sequence[GroupReading]) -> list[GroupReading]:
    """Return the readings of a tree's groups with `times` set: the arrays that are times by references alone.

    An array without units, or whose own units are a unit of time without an epoch, is a time if all arrays that refer to it, at least one of them in another
    group, declare the same units of time and calendar for it. It is then decoded in its own group, too.
    """
    # For each array: the attributes of times that each referring array declares of it.
    declared: dict[Node, dict[Node, list[Mapping[str, Any]]]] = defaultdict(dict)
    for referrer in (array for reading in readings for array in reading.arrays):
        for node, attributes in referrer.said_of_arrays():
            times = declared[node].setdefault(referrer.node, [])
            units = attributes.get("units")
            if isinstance(units, str) and "since" in units and not why_not_times(attributes):
                times.append(attributes)

    def agreed(node: Node) -> dict[str, Any]:
        """Return the attributes that all referring arrays declare alike of an array; {} if it is not a time to all."""
        by_referrer = declared.get(node, {})
        is_local = all(referrer.group == node.group for referrer in by_referrer)
        if not all(by_referrer.values()) or is_local:
            return {}
        times = [attributes for each in by_referrer.values() for attributes in each]
        if len({(time["units"], str(time.get("calendar"))) for time in times}) > 1:
            return {}
        shared = times[0].items()
        return {
            key: value for key, value in shared if all(time.get(key) == value for time in times)
        }

    found = []
    for reading in readings:
        unitless = (
            array.node
            for array in reading.arrays
            for units in (array.document.attributes.get("units"),)
            if units is None or is_bare_unit_of_time(units)
        )
        times_by_name = {node.name: attributes for node in unitless if (attributes := agreed(node))}
        found.append(replace(reading, times=times_by_name) if times_by_name else reading)
    return found


@contextmanager
def planning(
    store_like: Any, options: ReportOptions, kind: type[ReportOptions] = OpenOptions
) -> Iterator[Planning]:
    """Yield the planning of an open by options of a kind.

    The store is closed if anything is raised; documents are forgotten at the end.

    Raises
    ------
    TypeError, ValueError
        If an option does not exist, or its value is not valid.
    XGroupError
        If the store cannot be opened, see `Library.open`.
    """
    settled = settled_options(options, kind)
    try:
        planned = Planning(store_like, settled)
        try:
            yield planned
        except BaseException:
            planned.library.close()
            raise
        finally:
            planned.library.release()
    except XGroupError as error:
        redact_causes(error)
        raise


def _options_of(kind: type[T], options: ReportOptions) -> T:
    """Return those of the options that a kind of options has."""
    part: Any = {key: value for key, value in options.items() if key in kind.__annotations__}
    return kind(**part)
