"""The data store that xarray decodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr
from xarray.backends import AbstractDataStore
from xarray.core.utils import FrozenDict


class ResolvedZarrStore(AbstractDataStore):
    """The undecoded variables of a group, including those from other groups, as a data store of xarray.

    xarray's `StoreBackendEntrypoint` decodes it. It can be made from plain dicts.

    Parameters
    ----------
    variables : mapping of str to xarray.Variable
        Undecoded variables, by their names in the Dataset.
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
