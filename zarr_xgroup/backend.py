"""xarray's entry point: hands over what was opened.

Light to import, as xarray imports the entry points of all engines to list these: the rest of the package is imported
when a store is opened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import xarray as xr
from xarray.backends import AbstractDataStore, BackendEntrypoint
from xarray.core.utils import FrozenDict

from zarr_xgroup.options import (
    OpenOptions,
    OpenTreeOptions,
    with_options_shown,
    with_tree_options_shown,
)
from zarr_xgroup.redaction import redact_urls

__all__ = ["OpenOptions", "ResolvedZarrStore", "XGroupBackendEntrypoint"]


class ResolvedZarrStore(AbstractDataStore):
    """The variables of a group in the form in which xarray reads a store, including those from other groups.

    It can be made from plain dicts. Opening a Zarr store does not use it: there, the variables of a group are decoded without it.

    Parameters
    ----------
    variables : mapping of str to xarray.Variable
        Undecoded variables by the name they have in the Dataset.
    attributes : mapping, optional
        The attributes of the group.

    Examples
    --------
    >>> import xarray as xr
    >>> store = ResolvedZarrStore({"x": xr.Variable("x", [1, 2])}, {"title": "two numbers"})
    >>> xr.open_dataset(store).sizes["x"]
    2
    """

    def __init__(
        self,
        variables: Mapping[str, xr.Variable],
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        self._variables = dict(variables)
        self._attributes = dict(attributes or {})

    def get_variables(self) -> Mapping[str, xr.Variable]:
        """Return all variables by name."""
        return FrozenDict(self._variables)

    def get_attrs(self) -> dict[str, Any]:
        """Return the attributes of the group."""
        return dict(self._attributes)

    def get_dimensions(self) -> dict[str, int]:
        """Return the size of each dimension of the variables."""
        return {
            str(dimension): size
            for variable in self._variables.values()
            for dimension, size in variable.sizes.items()
        }


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

    @with_options_shown
    def open_dataset(self, filename_or_obj: Any, **options: Unpack[OpenOptions]) -> xr.Dataset:
        """Open one group as a Dataset.

        Parameters
        ----------
        filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
            The store.
        **options
            Those of xarray, and these:
            group : str, optional
                The group to open, relative to the path, URL or group that is given. Default: that itself.
            consolidated : bool, optional
                Whether to use consolidated metadata. Default: if there is some.
            storage_options : dict, optional
                For the fsspec filesystem of a URL.
            zarr_format : {2, 3}, optional
                Default: whichever the store has, v3 if it has both.
            use_zarr_fill_value_as_mask : bool, optional
                Whether Zarr's ``fill_value`` means missing data. Default: in v2 yes, in v3 no.
            cross_store_storage_options : mapping of str to mapping, optional
                Storage options of other stores that references lead to, by URI prefix; the
                longest at a path boundary counts. `storage_options` are never used for these.
            cross_store_timeout : float, optional
                Seconds to wait for another store each time. None: any time. Default: 30.
            cross_store_max_bytes : int, optional
                Bytes that a document of another store may have. None: any. Default: 32 MiB.
            cross_store_max_stores : int, optional
                How many other stores references may lead to. None: any number. Default: 100.
            assume_conventions : str or iterable of str, optional
                Names of conventions (``"cf"``, ``"proj"``, ``"spatial"``, ``"cs"``, ...) that
                count as declared by every array of the store. ``"auto"``, alone or among them: each array
                without a principal convention follows those whose marks the array, its groups or its
                neighbours have. Default: none.
            convention_attrs : {"keep", "drop", "json"}, optional
                What to do with the attributes of conventions: keep them, drop them as
                `drop_conventions` does, or make JSON text of all attributes that netCDF cannot hold.
            resolution : float or pair of float, optional
                The size of cells that is needed, for y and x, in the unit of the CRS: opens the coarsest
                level of the pyramid `group` whose cells are not larger; in a tree one of each layout.
            group_filter : str, optional
                Only for `open_datatree` and `open_groups`: a pattern for paths of groups as in
                `xarray.DataTree.match`, such as ``"*/r10m"``. The matching groups and all groups that
                contain them are opened. Not together with `group` or `resolution`. Default: all groups.

        Raises
        ------
        XGroupStoreError, XGroupStoreNotFoundError
            If the store does not exist, or cannot be opened, read or listed.
        XGroupGroupError
            If it has no such group, or an array there, or with `resolution` no pyramid.
        XGroupPathError
            If `group` cannot be a path, or a URI prefix cannot be one.
        XGroupMetadataError
            If the metadata of the group itself cannot be understood.
        ValueError
            If an option has a value that it cannot have.
        TypeError
            If there is no such option: `group_filter` in `open_dataset`, for example.
        """
        from zarr_xgroup.opening import opening

        with opening(filename_or_obj, options) as call:
            dataset = call.dataset()
        dataset.encoding.update(_redacted_source(filename_or_obj))
        return dataset

    @with_tree_options_shown
    def open_groups_as_dict(
        self, filename_or_obj: Any, **options: Unpack[OpenTreeOptions]
    ) -> dict[str, xr.Dataset]:
        """Open a group and all groups below it, none of them changed to fit the others.

        For parameters and errors see `open_dataset`.

        Returns
        -------
        dict of str to xarray.Dataset
            By path as engine zarr gives it: absolute for the whole store, relative to `group` (itself
            ``"."``) if that is given.
        """
        from zarr_xgroup.opening import opening

        with opening(filename_or_obj, options, OpenTreeOptions) as call:
            datasets = call.datasets()
        for dataset in datasets.values():
            dataset.encoding.update(_redacted_source(filename_or_obj))
        if not options.get("group"):
            return datasets
        return {path.strip("/") or ".": dataset for path, dataset in datasets.items()}

    @with_tree_options_shown
    def open_datatree(
        self, filename_or_obj: Any, **options: Unpack[OpenTreeOptions]
    ) -> xr.DataTree:
        """Open a group and all groups below it as a tree.

        For parameters and errors see `open_dataset`.

        Returns
        -------
        xarray.DataTree
            Rooted at `group`. If a group does not align with its parents, or would inherit the positions of a
            different grid, its conflicting dimensions are named ``<dimension>_<group>``. A variable that has
            the name of an inherited index, but other dimensions, is named ``<group>_<name>``. A warning reports
            both.
        """
        from zarr_xgroup.opening import opening

        with opening(filename_or_obj, options, OpenTreeOptions) as call:
            tree = call.datatree()
        tree.encoding = {**tree.encoding, **_redacted_source(filename_or_obj)}
        return tree


def _redacted_source(store_like: Any) -> dict[str, str]:
    """Return what xarray would say of where a Dataset is from, if that held credentials."""
    place = getattr(store_like, "path", store_like)
    if not isinstance(place, str) or redact_urls(place) == place:
        return {}
    return {"source": redact_urls(place)}
