"""The hand-off to xarray: the whole way of an open on one screen."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Unpack

import xarray as xr
from xarray.backends import BackendEntrypoint

from zarr_xgroup._compat import default_indexes_follow
from zarr_xgroup.datasets.align import align_with_parents
from zarr_xgroup.datasets.attributes import settle
from zarr_xgroup.datasets.build import Builder
from zarr_xgroup.datasets.decode import Decoder
from zarr_xgroup.datasets.plan import GroupPlan, without_principal
from zarr_xgroup.datasets.planning import OpenOptions, Planning, planning
from zarr_xgroup.datasets.prefetch import Wishes, prefetch
from zarr_xgroup.datasets.store import ResolvedZarrStore
from zarr_xgroup.errors import warn_user
from zarr_xgroup.findings import Finding, as_warnings
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.redaction import told

__all__ = ["OpenOptions", "ResolvedZarrStore", "XGroupBackendEntrypoint"]


class XGroupBackendEntrypoint(BackendEntrypoint):
    """xarray backend for hierarchical Zarr stores, engine name ``xgroup``.

    Used through `xarray.open_dataset`, `xarray.open_datatree` and `xarray.open_groups` with
    ``engine="xgroup"``. A store can be a path, a URL (also a chained one of fsspec), a
    `zarr.abc.store.Store`, an open `zarr.Group`, or an object with a `store` of its own, as
    icechunk's sessions have.

    For parameters and errors see `open_dataset`; the others have the same.
    """

    description = "Open hierarchical Zarr stores with all references resolved (GeoZarr)"
    url = "https://github.com/zarr-developers/geozarr-spec"
    supports_groups = True
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        *OpenOptions.__annotations__,
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return False: the backend is used only where it is asked for."""
        return False

    def open_dataset(self, filename_or_obj: Any, **options: Unpack[OpenOptions]) -> xr.Dataset:
        """Open one group as a Dataset.

        Parameters
        ----------
        filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
            The store.
        **options
            Those of xarray, and these:
            group : str, optional
                The group to open, with or without slashes around it. Default: the root.
            consolidated : bool, optional
                Whether to use consolidated metadata. Default: if there is some.
            storage_options : dict, optional
                For the fsspec filesystem of a URL.
            zarr_format : {2, 3}, optional
                Default: whichever the store has, v3 if it has both.
            use_zarr_fill_value_as_mask : bool, optional
                Whether the fill value of an array's storage means missing data. Default: in v2.
            cross_store_storage_options : mapping of str to mapping, optional
                Storage options of other stores that references lead to, by URI prefix; the
                longest at a path boundary counts. `storage_options` are never used for these.
            cross_store_timeout : float, optional
                Seconds to wait for one other store each time that it is needed: for documents,
                and for values that xarray reads for its indexes. None: any time. Default: 30.
            cross_store_max_bytes : int, optional
                How many bytes a metadata document of another store may have. None: any number.
                Default: 32 MiB.
            cross_store_max_stores : int, optional
                How many other stores references are followed to. None: any number. Default: 100.
            assume_conventions : str or iterable of str, optional
                Names of conventions (``"cf"``, ``"proj"``, ``"spatial"``, ``"cs"``, ...) that
                count as declared by every array of the store. Default: none.
            convention_attrs : {"keep", "drop", "json"}, optional
                What becomes of the attributes of conventions once they are resolved: they stay, are
                dropped as `drop_conventions` does it, or, as all attributes that netCDF cannot
                hold, become JSON text. Default: "keep".

        Raises
        ------
        XGroupStoreError, XGroupStoreNotFoundError
            If the store does not exist, or cannot be opened, read or listed.
        XGroupGroupError
            If it has no such group, or an array there.
        XGroupPathError
            If `group` cannot be a path, or a URI prefix cannot be one.
        XGroupMetadataError
            If the metadata of the group itself cannot be understood.
        ValueError
            If `assume_conventions` names a convention that there is not, or `convention_attrs` is
            none of its values.
        """
        with _opening(filename_or_obj, options) as opening:
            dataset = opening.dataset()
        dataset.encoding.update(_told_source(filename_or_obj))
        return dataset

    def open_groups_as_dict(
        self, filename_or_obj: Any, **options: Unpack[OpenOptions]
    ) -> dict[str, xr.Dataset]:
        """Open a group and all groups below it, none of them changed to fit the others.

        For parameters and errors see `open_dataset`.

        Returns
        -------
        dict of str to xarray.Dataset
            By path as engine zarr gives it: absolute for the whole store, relative to
            `group` (itself ``"."``) where one is asked for.
        """
        with _opening(filename_or_obj, options) as opening:
            datasets = opening.datasets()
        for dataset in datasets.values():
            dataset.encoding.update(_told_source(filename_or_obj))
        if not options.get("group"):
            return datasets
        return {path.strip("/") or ".": dataset for path, dataset in datasets.items()}

    def open_datatree(self, filename_or_obj: Any, **options: Unpack[OpenOptions]) -> xr.DataTree:
        """Open a group and all groups below it as a tree.

        For parameters and errors see `open_dataset`.

        Returns
        -------
        xarray.DataTree
            Rooted at `group`. Where a group does not align with its parents, its conflicting
            dimensions are called ``<dimension>_<group>``, and a warning says so.
        """
        with _opening(filename_or_obj, options) as opening:
            tree = opening.tree()
        tree.encoding = {**tree.encoding, **_told_source(filename_or_obj)}
        return tree


class _Opening:
    """One open from plans on: build; what was found on the way is told at the end."""

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        self._library = planning.library
        self._identities: dict[str, dict[str, Hashable]] = {}
        self.findings: list[Finding] = []

    def dataset(self) -> xr.Dataset:
        """Return the group."""
        with_indexes = default_indexes_follow()
        plans = deque(self._planning.plan_group(with_indexes=with_indexes))
        (dataset,) = self._built(plans, with_indexes=with_indexes).values()
        return dataset

    def datasets(self, *, is_tree: bool = False) -> dict[str, xr.Dataset]:
        """Return the group and all below it, by path from the group (itself "/")."""
        with_indexes = default_indexes_follow()
        plans = deque(self._planning.plan_tree(with_indexes=with_indexes))
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

    def _built(
        self, plans: deque[GroupPlan], *, with_indexes: bool, is_tree: bool = False
    ) -> dict[str, xr.Dataset]:
        """Return planned groups as Datasets, by path from the group asked for; `plans` is used up."""
        planning, maker = self._planning, self._planning.maker
        wishes = Wishes(planning.dropped, planning.decoding.get("decode_times", True), with_indexes)
        values = prefetch(plans, wishes, maker, self._library)
        builder = Builder(maker, values, wishes)
        decoder = Decoder(planning.decoding, with_indexes=with_indexes)
        snapshot = self._library.snapshots[0]
        last = list(without_principal(plans, snapshot, assumed=planning.assumed, is_tree=is_tree))
        datasets = {}
        while plans:  # thousands of plans take as much memory as what is built of them
            plan = plans.popleft()
            datasets[self._relative(plan.node)] = self._dataset(plan, builder, decoder)
        above = (snapshot.document(it.path) for it in Node(0, planning.group).ancestors())
        attributes = [document.attributes for document in above if document is not None]
        settle(datasets.values(), planning.convention_attrs, attributes, planning.assumed)
        self.findings.extend(last)
        return datasets

    def _dataset(self, plan: GroupPlan, builder: Builder, decoder: Decoder) -> xr.Dataset:
        built = builder.built(plan)
        dataset, findings = decoder.dataset(built)
        dataset.set_close(self._library.closer)
        self.findings.extend([*plan.findings, *built.findings, *findings])
        self._identities[self._relative(plan.node)] = {
            planned.name: planned.identity
            for planned in plan.variables
            if planned.identity is not None
        }
        return dataset

    def _relative(self, node: Node) -> str:
        return f"/{node.path[len(self._planning.group) :].lstrip('/')}"


@contextmanager
def _opening(store_like: Any, options: OpenOptions) -> Iterator[_Opening]:
    """Open a store; at the end tell what was found, or close it if anything was raised."""
    with planning(store_like, options) as planned:
        opening = _Opening(planned)
        yield opening
        for warning in as_warnings([*planned.library.findings, *opening.findings]):
            warn_user(warning)


def _told_source(store_like: Any) -> dict[str, str]:
    """Return what xarray would say of where a Dataset is from, if that held credentials."""
    place = getattr(store_like, "path", store_like)
    if not isinstance(place, str) or told(place) == place:
        return {}
    return {"source": told(place)}
