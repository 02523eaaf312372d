"""xarray's entry point.

This module must be light, because xarray imports the entry points of all engines to list them. The rest of the package
is imported when a store is opened.
"""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import xarray as xr
from xarray.backends import BackendEntrypoint

from zarr_xgroup.options import (
    OpenOptions,
    OpenTreeOptions,
    with_options_shown,
    with_tree_options_shown,
)
from zarr_xgroup.redaction import redact_urls
from zarr_xgroup.resolved import ResolvedZarrStore

__all__ = ["OpenOptions", "ResolvedZarrStore", "XGroupBackendEntrypoint"]


class XGroupBackendEntrypoint(BackendEntrypoint):
    """xarray backend for hierarchical Zarr stores, engine name ``xgroup``.

    Used through `xarray.open_dataset`, `xarray.open_datatree` and `xarray.open_groups` with
    ``engine="xgroup"``. A store can be a path, a URL (also a chained one of fsspec), a
    `zarr.abc.store.Store`, an open `zarr.Group`, or an object with an attribute `store`, such as a
    session of icechunk.

    See `open_dataset` for the parameters and exceptions of all methods.
    """

    description = "Open hierarchical Zarr stores with all references resolved (GeoZarr)"
    url = "https://github.com/zarr-developers/geozarr-spec"
    supports_groups = True
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj",
        *OpenOptions.__annotations__,
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return False: xarray uses this backend only with ``engine="xgroup"``."""
        return False

    @with_options_shown
    def open_dataset(self, filename_or_obj: Any, **options: Unpack[OpenOptions]) -> xr.Dataset:
        """Open one group as a Dataset.

        Parameters
        ----------
        filename_or_obj : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
            The store.
        **options
            The options of xarray, and these:
            group : str, optional
                The group to open, relative to the given path, URL or group. Default: that group itself.
            consolidated : bool, optional
                Whether to use consolidated metadata. Default: yes if the store has them.
            storage_options : dict, optional
                Options for the fsspec filesystem of a URL.
            zarr_format : {2, 3}, optional
                The Zarr format. Default: the format of the store, 3 if it has both.
            use_zarr_fill_value_as_mask : bool, optional
                Whether Zarr's ``fill_value`` means missing data. Default: True for v2, False for v3.
            cross_store_storage_options : mapping of str to mapping, optional
                Storage options for other stores that references point to, by URI prefix. The longest
                prefix that matches at a path boundary is used. `storage_options` are never used for them.
            cross_store_timeout : float or None, optional
                Seconds to wait for each request to a different store. None: no limit. Default: 30.
            cross_store_max_bytes : int or None, optional
                Largest size of a document of a different store. None: no limit. Default: 32 MiB.
            cross_store_max_stores : int or None, optional
                Largest number of other stores that references may point to. None: no limit, 0: no store. Default: 100.
            assume_conventions : str or iterable of str, optional
                Names of conventions (``"cf"``, ``"proj"``, ``"spatial"``, ``"cs"``, ...) to treat as
                declared by every array of the store. With ``"auto"``, each array without a principal
                convention uses the conventions that attributes of the array, its groups or its
                neighbours indicate. Default: none.
            convention_attrs : {"keep", "drop", "json"}, optional
                What to do with the attributes of conventions: keep them (default), drop them as
                `drop_conventions` does, or convert all attributes that netCDF cannot store to JSON text.
            resolution : float or pair of float, optional
                The required cell size, for y and x, in the unit of the coordinates. The coarsest level of the
                pyramid `group` whose cells are not larger is opened; in a tree, one level of each layout.
            group_filter : str, optional
                Only for `open_datatree` and `open_groups`: a pattern for paths of groups as in
                `xarray.DataTree.match`, such as ``"*/r10m"``. The matching groups and all groups that
                contain them are opened. Not valid with `group` or `resolution`. Default: all groups.
            problems : {"warn", "raise"}, optional
                What to do if the result is smaller than, or different from, what the store declares: warn (default), or
                raise one XGroupError that lists all these problems.

        Raises
        ------
        XGroupError
            With ``problems="raise"``, if there is a problem.
        XGroupStoreError, XGroupStoreNotFoundError
            If the store does not exist, or cannot be opened, read or listed.
        XGroupGroupError
            If the group does not exist, if `group` names an array or the array of the address cannot be opened, or if the
            group is not a pyramid and `resolution` is given.
        XGroupPathError
            If `group` is not a valid path, or a key of `cross_store_storage_options` not a valid URI prefix.
        XGroupMetadataError
            If the metadata of the group itself are not valid.
        ValueError
            If an option has an invalid value.
        TypeError
            If an option does not exist, for example `group_filter` in `open_dataset`.
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
        """Open a group and all groups below it as separate Datasets, without aligning them.

        See `open_dataset` for parameters and exceptions.

        Returns
        -------
        dict of str to xarray.Dataset
            By path, as with engine zarr: absolute, or relative to `group` if that option is given (``"."`` is
            `group` itself).
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

        See `open_dataset` for parameters and exceptions.

        Returns
        -------
        xarray.DataTree
            Rooted at `group`. If a group does not align with its parents, or would inherit the coordinates of a
            different grid, its conflicting dimensions are renamed ``<dimension>_<group>``. A variable that has
            the name of an inherited index but different dimensions is renamed ``<group>_<name>``. A warning
            reports each of these changes.
        """
        from zarr_xgroup.opening import opening

        with opening(filename_or_obj, options, OpenTreeOptions) as call:
            tree = call.datatree()
        tree.encoding = {**tree.encoding, **_redacted_source(filename_or_obj)}
        return tree


def _redacted_source(store_like: Any) -> dict[str, str]:
    """Return the encoding `source` without credentials; {} if xarray's own has no credentials."""
    location = getattr(store_like, "path", store_like)
    if not isinstance(location, str) or redact_urls(location) == location:
        return {}
    return {"source": redact_urls(location)}
