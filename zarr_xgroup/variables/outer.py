"""Lazy arrays that read slices and lists of positions along each axis on its own."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from xarray.backends import BackendArray
from xarray.core import indexing


class OuterArray(BackendArray, ABC):
    """A lazy array that reads along each axis on its own: xarray makes all other keys of that."""

    shape: tuple[int, ...]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds."""
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, self._read
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return await asyncio.to_thread(self.__getitem__, key)

    @abstractmethod
    def _read(self, key: tuple[Any, ...]) -> Any:
        """Return the values at an integer, a slice or an array of positions for each axis."""
