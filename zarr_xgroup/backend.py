"""The hand-off to xarray: the entry point of the backend."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar, Unpack

import xarray as xr
from xarray.backends import BackendEntrypoint
from zarr.abc.store import Store

from zarr_xgroup.alignment import align_with_parents
from zarr_xgroup.assembly import (
    AssembledGroup,
    assemble,
    no_principal_warning,
    resolution_warnings,
)
from zarr_xgroup.datastore import ResolvedZarrStore
from zarr_xgroup.decoding import Decoder, DecodingOptions
from zarr_xgroup.errors import XGroupWarning, warn_user
from zarr_xgroup.fetching import default_indexes_follow, fetch
from zarr_xgroup.hierarchy import Hierarchy, StoreOptions
from zarr_xgroup.i18n import _
from zarr_xgroup.loading import load_referred
from zarr_xgroup.variables import ArrayReader

T = TypeVar("T", StoreOptions, DecodingOptions)

__all__ = ["OpenOptions", "ResolvedZarrStore", "XGroupBackendEntrypoint"]


class OpenOptions(StoreOptions, DecodingOptions, total=False):
    """All options of an open: what xarray passes to a backend, and what concerns the store."""


class XGroupBackendEntrypoint(BackendEntrypoint):
    """xarray backend for hierarchical Zarr stores, engine name ``xgroup``.

    Used through `xarray.open_dataset`, `xarray.open_datatree` and `xarray.open_groups` with
    ``engine="xgroup"``. A store can be a path, a URL (also a chained one of fsspec), a
    `zarr.abc.store.Store`, an open `zarr.Group`, or an object with a `store` of its own, as
    icechunk's sessions have.

    Parameters of the open functions, besides those of xarray:

    group : str, optional
        The group to open, with or without slashes around it. Default: the root.
    consolidated : bool, optional
        Whether to use consolidated metadata. Default: if there is some.
    storage_options : dict, optional
        For the fsspec filesystem of a URL.
    zarr_format : {2, 3}, optional
        Default: whichever the store has, v3 if it has both.
    cross_store_storage_options : mapping of str to mapping, optional
        Storage options of other stores that references lead to, by URI prefix; the longest at
        a path boundary counts. `storage_options` are never used for these.
    cross_store_timeout : float, optional
        Seconds to wait for one other store each time that it is needed: for documents, and for
        values that xarray reads for its indexes. None: any time. Default: 30.

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
    """

    description = "Open hierarchical Zarr stores with all references resolved (GeoZarr)"
    supports_groups = True
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        *OpenOptions.__annotations__,
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return False: the backend is used only where it is asked for."""
        return False

    def open_dataset(self, filename_or_obj: Any, **options: Unpack[OpenOptions]) -> xr.Dataset:
        """Open one group as a Dataset. For parameters and errors see the class."""
        with _opening(filename_or_obj, options) as opening:
            return opening.dataset()

    def open_groups_as_dict(
        self, filename_or_obj: Any, **options: Unpack[OpenOptions]
    ) -> dict[str, xr.Dataset]:
        """Open a group and all groups below it, none of them changed to fit the others.

        For parameters and errors see the class.

        Returns
        -------
        dict of str to xarray.Dataset
            By path as engine zarr gives it: absolute for the whole store, relative to
            `group` (itself ``"."``) where one is asked for.
        """
        with _opening(filename_or_obj, options) as opening:
            datasets = opening.datasets()
        if not options.get("group"):
            return datasets
        return {path.strip("/") or ".": dataset for path, dataset in datasets.items()}

    def open_datatree(self, filename_or_obj: Any, **options: Unpack[OpenOptions]) -> xr.DataTree:
        """Open a group and all groups below it as a tree.

        For parameters and errors see the class.

        Returns
        -------
        xarray.DataTree
            Rooted at `group`. Where a group does not align with its parents, its conflicting
            dimensions are called ``<dimension>_<group>``, and a warning says so.
        """
        with _opening(filename_or_obj, options) as opening:
            datasets, warnings = align_with_parents(
                opening.datasets(), opening.identities(), opening.group
            )
            opening.warnings.extend(warnings)
            tree = xr.DataTree.from_dict(datasets)
            for node in tree.subtree:
                node.set_close(opening.close)
        return tree


@dataclass
class _Opening:
    """One call of an open function: the store, how to decode, and what was found wrong."""

    hierarchy: Hierarchy
    group: str
    decoding: DecodingOptions
    warnings: list[XGroupWarning] = field(default_factory=list)
    _assembled: list[AssembledGroup] = field(default_factory=list)
    _reader: ArrayReader = field(default_factory=ArrayReader)

    @property
    def close(self) -> Callable[[], None] | None:
        """What closes the stores; not a method of the hierarchy, lest Datasets pickle that."""
        stores = self.hierarchy.opened_stores()
        if len(stores) == 1:
            return stores[0].close
        return partial(_close, tuple(stores)) if stores else None

    def dataset(self) -> xr.Dataset:
        """Return the group."""
        self.hierarchy.load_group(self.group)
        return self._open([self.group])[self.group]

    def datasets(self) -> dict[str, xr.Dataset]:
        """Return the group and all below it, by path from the group (itself "/")."""
        self.hierarchy.load_tree(self.group)
        datasets = self._open(list(self.hierarchy.subtree(self.group)))
        return {self._relative(path): dataset for path, dataset in datasets.items()}

    def _open(self, paths: Collection[str]) -> dict[str, xr.Dataset]:
        """Return loaded groups as Datasets, by path."""
        load_referred(self.hierarchy, paths)
        dropped = _names(self.decoding.get("drop_variables"))
        groups = [assemble(self.hierarchy, path, dropped, self._reader) for path in paths]
        indexes_follow = default_indexes_follow()
        decode_times = self.decoding.get("decode_times", True)
        fetch(groups, dropped, decode_times, for_indexes=indexes_follow)
        self._assembled.extend(groups)
        decoder = Decoder(self.decoding, with_indexes=indexes_follow)
        close = self.close
        datasets = {}
        for group in groups:
            self.warnings.extend(group.warnings)
            dataset, warnings = decoder.dataset(group)
            self.warnings.extend(warnings)
            dataset.set_close(close)
            datasets[group.path] = dataset
        return datasets

    def identities(self) -> dict[str, dict[str, Hashable]]:
        """Return what the coordinates of each group are, by path as of `datasets`."""
        return {self._relative(group.path): group.identities for group in self._assembled}

    def _relative(self, path: str) -> str:
        return f"/{path[len(self.group) :].lstrip('/')}"

    def give_warnings(self) -> None:
        """Give all warnings of this open."""
        without_principal = no_principal_warning(self._assembled)
        for warning in (
            *self.hierarchy.all_warnings(),
            *self.warnings,
            *resolution_warnings(self._assembled),
            *([without_principal] if without_principal is not None else []),
        ):
            warn_user(warning)


@contextmanager
def _opening(store_like: Any, options: OpenOptions) -> Iterator[_Opening]:
    """Open a store; at the end give the warnings, or close it if anything was raised."""
    if unknown := sorted(set(options) - set(OpenOptions.__annotations__)):
        message = _("engine 'xgroup' has no option {names}").format(names=", ".join(unknown))
        raise TypeError(message)
    hierarchy, group = Hierarchy.open(store_like, _part(StoreOptions, options))
    opening = _Opening(hierarchy, group, _part(DecodingOptions, options))
    try:
        yield opening
        opening.give_warnings()
    except BaseException:
        hierarchy.close()
        raise
    finally:
        hierarchy.release()


def _close(stores: Iterable[Store]) -> None:
    for store in stores:
        store.close()


def _part(kind: type[T], options: OpenOptions) -> T:
    part: Any = {key: value for key, value in options.items() if key in kind.__annotations__}
    return kind(**part)


def _names(drop_variables: str | Iterable[str] | None) -> set[str]:
    if isinstance(drop_variables, str):
        return {drop_variables}
    return set(drop_variables or ())
