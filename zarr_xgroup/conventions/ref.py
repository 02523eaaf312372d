"""The `ref` service convention: references to arrays in any attribute."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar

from zarr_xgroup.conventions.base import CONVENTIONS_KEY, ArrayContext, Coordinate, DocumentHandler
from zarr_xgroup.conventions.geolocation import fitting_dimensions
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.resolver import Fragment, Node, Reference, references_in

#: Attributes whose references belong to other conventions.
_OTHERS = frozenset({"cs", "crs", "geolocation", "uom", "multiscales", CONVENTIONS_KEY})
_OTHER_PREFIXES = ("spatial:", "proj:")


class RefHandler(DocumentHandler):
    """Attaches every array that an attribute of the array refers to, by its basename."""

    tier = "service"
    name = "ref"
    uuid: ClassVar[str | None] = "d89b30cf-ed8c-43d5-9a16-b492f0cd8786"
    repositories = ("R-CF/zarr_convention_ref",)

    @classmethod
    def applies(cls, context: ArrayContext) -> bool:
        """Tell whether the array itself declares the convention."""
        document = context.node.document
        return document is not None and cls.is_declared(document["attributes"])

    def coordinates(self, context: ArrayContext) -> Iterator[Coordinate]:
        """Yield the arrays referred to outside of other conventions' attributes."""
        document = context.node.document
        for key in document["attributes"] if document is not None else ():
            if key in _OTHERS or key.startswith(_OTHER_PREFIXES):
                continue
            attribute = context.node.attribute(key)
            for reference in references_in(attribute) if attribute is not None else ():
                coordinate = context.attempt(_coordinate, context, reference)
                if coordinate is not None:
                    yield coordinate


def _coordinate(context: ArrayContext, reference: Fragment) -> Coordinate | None:
    node = _array(context, reference)
    if node is None or node == context.node:
        return None
    dimensions = fitting_dimensions(context, node)
    return Coordinate(
        name=node.name,
        variable=context.variable(node, dimensions, reference),
        identity=(node, dimensions),
        source=node,
        as_stored=True,
    )


def _array(context: ArrayContext, reference: Fragment) -> Node | None:
    """Return the array that a reference leads to.

    None for one to a group or to metadata, which has to lead somewhere but attaches nothing.
    """
    if Reference.parse(reference).attribute is None:
        with contextlib.suppress(XGroupReferenceError):
            return context.resolver.array(reference)
    found = context.resolver.fragment(reference)
    document = found.node.document
    is_array = not found.keys and document is not None and document["node_type"] == "array"
    return found.node if is_array else None
