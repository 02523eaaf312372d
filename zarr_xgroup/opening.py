"""The whole way of an open on one screen."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import xarray as xr

from zarr_xgroup._compat import default_indexes_follow
from zarr_xgroup.datasets.align import align_with_parents
from zarr_xgroup.datasets.attributes import settle
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.planning import Planning, planning
from zarr_xgroup.datasets.undeclared import lacks, undeclared
from zarr_xgroup.errors import XGroupEmptyGroupWarning, XGroupWarning, warn_user
from zarr_xgroup.findings import Finding, as_warnings
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import OpenOptions
from zarr_xgroup.storage.library import groups_instead


class Opening:
    """One open from plans on: build; what was found on the way is told at the end."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._library = planning.library
        self._identities: dict[str, dict[str, Hashable]] = {}
        self.findings: list[Finding] = []
        self.warnings: list[XGroupWarning] = []

    def dataset(self) -> xr.Dataset:
        """Return the group."""
        with_indexes = default_indexes_follow()
        plans = deque(self._planning.plan_group(with_indexes=with_indexes))
        self._tell_where_arrays_are(plans[0].node.path)
        (dataset,) = self._built(plans, with_indexes=with_indexes).values()
        return dataset

    def datasets(self, *, is_tree: bool = False) -> dict[str, xr.Dataset]:
        """Return the group and all below it, by path from the group (itself "/")."""
        with_indexes = default_indexes_follow()
        plans = deque(self._planning.plan_tree(with_indexes=with_indexes, is_tree=is_tree))
        return self._built(plans, with_indexes=with_indexes, is_tree=is_tree)

    def tree(self) -> xr.DataTree:
        """Return the group and all below it, fitted together."""
        datasets = self.datasets(is_tree=True)
        datasets, findings = align_with_parents(datasets, self._identities, self._planning.group)
        self.findings.extend(findings)
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

    def _tell_where_arrays_are(self, group: str) -> None:
        """Note a warning if the group that is opened holds no array, though groups below it do."""
        found = tuple(f"/{path}" for path in groups_instead(self._library, group))
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

    def _built(
        self, plans: deque[GroupPlan], *, with_indexes: bool, is_tree: bool = False
    ) -> dict[str, xr.Dataset]:
        """Return planned groups as Datasets, by path from the group asked for; `plans` is used up."""
        planning = self._planning
        builder = Builder(plans, planning, with_indexes=with_indexes)
        tree = self._library.tree
        found = undeclared(plans, tree, assumed=planning.assumed, is_tree=is_tree)
        last = list(lacks(found, planning.taken))
        root = plans[0].node
        datasets = {}
        while plans:  # thousands of plans take as much memory as what is built of them
            plan = plans.popleft()
            dataset = self._dataset(plan, builder)
            dataset.set_close(self._library.closer)
            datasets[self._relative(plan.node)] = dataset
        above = (tree.known(it) for it in root.ancestors())
        attributes = [document.attributes for document in above if document is not None]
        settle(datasets, planning.convention_attrs, attributes, planning.assumed)
        self.findings.extend(last)
        return datasets

    def _dataset(self, plan: GroupPlan, builder: Builder) -> xr.Dataset:
        dataset, findings = builder.dataset(plan)
        self.findings.extend([*plan.findings, *findings])
        self._identities[self._relative(plan.node)] = {
            planned.name: planned.identity
            for planned in plan.variables
            if planned.identity is not None
        }
        return dataset

    def _relative(self, node: Node) -> str:
        return f"/{node.path[len(self._planning.group) :].lstrip('/')}"


@contextmanager
def opening(store_like: Any, options: OpenOptions) -> Iterator[Opening]:
    """Open a store; at the end tell what was found, or close it if anything was raised."""
    with planning(store_like, options) as planned:
        opened = Opening(planned)
        yield opened
        found = as_warnings([*planned.library.findings, *planned.findings, *opened.findings])
        for warning in (*opened.warnings, *found):
            warn_user(warning)
