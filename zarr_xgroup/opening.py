"""One open on one screen: read, interpret, plan, build, tell."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import xarray as xr

from zarr_xgroup._compat import default_indexes_follow
from zarr_xgroup.datasets.align import GroupCoordinates, align_with_parents
from zarr_xgroup.datasets.attributes import apply_convention_attrs
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.planning import Planning, planning
from zarr_xgroup.datasets.undeclared import undeclared_findings
from zarr_xgroup.errors import XGroupEmptyGroupWarning, XGroupWarning, warn_user
from zarr_xgroup.findings import Finding, as_warnings
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.paths import path_in_tree
from zarr_xgroup.options import OpenOptions
from zarr_xgroup.storage.library import nearest_groups_with_arrays


class Opening:
    """One open; what is found on the way is told at the end."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._library = planning.library
        self.findings: list[Finding] = []
        self.warnings: list[XGroupWarning] = []

    def dataset(self) -> xr.Dataset:
        """Return the group."""
        datasets, _described = self._built(is_group=True)
        (dataset,) = datasets.values()
        return dataset

    def datasets(self) -> dict[str, xr.Dataset]:
        """Return the group and all below it, by path from the group (itself "/")."""
        datasets, _described = self._built()
        return datasets

    def tree(self) -> xr.DataTree:
        """Return the group and all below it, fitted together."""
        datasets, described = self._built(is_tree=True)
        datasets, findings = align_with_parents(datasets, described, self._planning.group)
        self.findings += findings
        nodes = {path: xr.DataTree(datasets.pop(path)) for path in list(datasets)}  # which copies
        children: defaultdict[str, dict[str, xr.DataTree]] = defaultdict(dict)
        for path, node in nodes.items():
            node.set_close(self._library.closer)
            if path != "/":
                parent, _slash, name = path.rpartition("/")
                children[parent or "/"][name] = node
        for parent, named in children.items():  # parents first: what is below is not checked again
            nodes[parent].children = named
        return nodes["/"]

    def _built(
        self, *, is_group: bool = False, is_tree: bool = False
    ) -> tuple[dict[str, xr.Dataset], dict[str, GroupCoordinates]]:
        """Return groups by path from the one asked for, and for a tree what plans describe of their coordinates.

        One group, or all below it as well, or these as they will be in a tree.
        """
        planning, tree = self._planning, self._library.tree
        with_indexes = default_indexes_follow()
        if is_group:
            plans = deque(planning.plan_group(with_indexes=with_indexes))
            self._tell_where_arrays_are(plans[0].node.path)
        else:
            plans = deque(planning.plan_tree(with_indexes=with_indexes, is_tree=is_tree))
        above = (tree.known(group) for group in plans[0].node.ancestors())
        inherited = [document.attributes for document in above if document is not None]
        found = planning.undeclared_data_arrays(plans, is_tree=is_tree)
        lacking = list(undeclared_findings(found))
        assumed = planning.assumed_in(plans)

        builder = Builder(planning, with_indexes=with_indexes)
        builder.read(plans)
        datasets: dict[str, xr.Dataset] = {}
        described: dict[str, GroupCoordinates] = {}
        while plans:  # thousands of plans take as much memory as what is built of them
            plan = plans.popleft()
            path = path_in_tree(plan.node.path, planning.group)
            datasets[path], findings = builder.dataset(plan)
            datasets[path].set_close(self._library.closer)
            self.findings += [*plan.findings, *findings]
            if is_tree:
                described[path] = GroupCoordinates.of(plan)
        apply_convention_attrs(datasets, planning.convention_attrs, inherited, assumed)
        self.findings += lacking
        return datasets, described

    def _tell_where_arrays_are(self, group: str) -> None:
        """Note a warning if the group that is opened holds no array, though groups below it do."""
        found = tuple(f"/{path}" for path in nearest_groups_with_arrays(self._library, group))
        if found:
            message = _(
                "Group {path} of {store} holds no array. Groups below it do: {names}. Open one of "
                "these, or all with xarray.open_datatree"
            ).format(
                path=f"/{group}", store=self._library.tree.stores[0].name, names=", ".join(found)
            )
            warning = XGroupEmptyGroupWarning(message)
            warning.paths = found
            self.warnings.append(warning)


@contextmanager
def opening(
    store_like: Any, options: OpenOptions, kind: type[OpenOptions] = OpenOptions
) -> Iterator[Opening]:
    """Open a store by options of a kind; at the end warn of findings, or close it if anything was raised."""
    with planning(store_like, options, kind) as planned:
        opened = Opening(planned)
        yield opened
        found = as_warnings([*planned.library.findings, *planned.findings, *opened.findings])
        for warning in (*opened.warnings, *found):
            warn_user(warning)
