"""The `ref` service convention: references to arrays in any attribute."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import is_declared_by_array, is_only_assumed
from zarr_xgroup.conventions.geolocation import fitting_dims, standing_for
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.findings import referred_to_by
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.references import references_in
from zarr_xgroup.variables.sources import Stored

#: Attributes whose references belong to other conventions.
_OTHERS = frozenset({"cs", "crs", "geolocation", "uom", "multiscales", CONVENTIONS_KEY})
_OTHER_PREFIXES = ("spatial:", "proj:")


class RefHandler(ConventionHandler):
    """Attaches every array that an attribute of the array refers to, by its basename."""

    tier = "service"
    name = "ref"
    uuid: ClassVar[str | None] = "d89b30cf-ed8c-43d5-9a16-b492f0cd8786"
    repositories = ("R-CF/zarr_convention_ref",)
    implies = ("proj",)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array itself declares the convention, or it is assumed."""
        return is_declared_by_array(cls, array) or is_only_assumed(cls, array)

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield the attributes outside of other conventions that hold references."""
        for key, value in attributes.items():
            if not _is_of_others(key):
                # Of what it is an attribute does not matter: nothing is resolved.
                references = references_in(Fragment(Node(0, ""), ("attributes", key), value))
                if next(references, None) is not None:
                    yield key

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the arrays referred to outside of other conventions' attributes."""
        coordinates = []
        for key in dict.fromkeys((*array.attributes.referring(), "ref")):
            if _is_of_others(key):
                continue
            attribute = array.attribute(key)
            for reference in _written_in(key, attribute) if attribute is not None else ():
                lost = partial(referred_to_by, key)
                coordinate = array.attempt(_coordinate, array, reference, lost=lost)
                if coordinate is not None:
                    coordinates.append(coordinate)
        return array.found(*coordinates)


def _is_of_others(key: str) -> bool:
    """Tell whether the references of an attribute belong to other conventions."""
    return key in _OTHERS or key.startswith(_OTHER_PREFIXES)


def _written_in(key: str, attribute: Fragment) -> Iterator[Fragment]:
    """Yield the references in an attribute. What `ref` is or lists is meant as one, if it holds none."""
    yield from references_in(attribute)
    if key == "ref":
        meant = attribute.items() if isinstance(attribute.value, list) else [attribute]
        yield from (it for it in meant if next(references_in(it), None) is None)


def _coordinate(array: ArrayView, reference: Fragment) -> Coordinate | None:
    node = _array(array, reference)
    if node is None or node == array.node:
        return None
    node = standing_for(array, node)
    source = array.stored(Stored(node, fitting_dims(array, node)), reference)
    return Coordinate(node.name, source)


def _array(array: ArrayView, reference: Fragment) -> Node | None:
    """Return the array that a reference leads to.

    None for one to a group or to metadata, which has to lead somewhere but attaches nothing.
    """
    with contextlib.suppress(XGroupReferenceError):
        return array.resolver.array(reference)
    array.resolver.fragment(reference)
    return None
