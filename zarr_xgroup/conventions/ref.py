"""The `ref` service convention: references to arrays in any attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import fitting_dims
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.descriptions import (
    Member,
    Model,
    Parsed,
    Reader,
    ReferenceTo,
    Text,
)
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.errors import Rule, XGroupReferenceError, rules_in
from zarr_xgroup.findings import referred_to_by
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.references import (
    NODE,
    POINTER,
    URI,
    WRAPPED,
    may_refer,
    path_of,
    pointer_of,
    references_in,
)
from zarr_xgroup.variables.sources import Stored

#: Attributes whose references belong to other conventions.
_OTHER_CONVENTIONS = frozenset(
    {"cs", "crs", "geolocation", "uom", "multiscales", "zarr_conventions"}
)
_OTHER_PREFIXES = ("spatial:", "proj:")

REFERENCE = Rule("ref/form", "ref convention (R-CF/zarr_convention_ref)", "node, uri, attribute")
SOMEWHERE = Rule("ref/leads-somewhere", REFERENCE.document, "node, attribute")
FIRST = Rule("ref/first-rule", "xarray-zarr-xgroup specification", "7 References")
OWN = Rule("ref/own-store", REFERENCE.document, URI)

RULES = rules_in(vars())


class WrittenReference(Model, frozen=True, kw_only=True):
    """A reference to a node, or with a JSON pointer to a value in the document of the node."""

    form: ClassVar[Rule] = REFERENCE

    path: Annotated[
        str, Parsed(path_of), Member(key=NODE, required=True, example='"node": "time"')
    ] = ""
    store: Annotated[str, Text(), Member(key=URI, example='"uri": "s3://bucket/store.zarr"')] = ""
    pointer: Annotated[
        str, Parsed(pointer_of), Member(key=POINTER, example='"attribute": "/attributes/crs"')
    ] = ""


class _References(ReferenceTo, frozen=True):
    """The attribute ``ref``: a reference, or a list or object that contains references."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the whole value as a `Part`, and report items without a reference.

        `RefHandler.interpret` follows the references.
        """
        for item in _items_without_reference(value):
            reason = self.why_none(item, _("a reference"))
            reader.refuse(item, reason, value_kept=True)
        return value.part


#: The attribute for references; other attributes may contain references, too.
ATTRIBUTE = Attribute(WRAPPED, _References(), REFERENCE, '"ref": {"node": "time"}', is_needed=False)


class RefHandler(ConventionHandler):
    """Attaches the arrays that attributes refer to, as coordinates with the names of these arrays."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "d89b30cf-ed8c-43d5-9a16-b492f0cd8786"
    identifiers = ("R-CF/zarr_convention_ref",)
    described = (ATTRIBUTE,)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the array itself declares the convention, or the user assumes it.

        A declaration of the group is not enough.
        """
        return cls in array.declared or array.only_assumes(cls)

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of attributes with references that do not belong to a different convention."""
        for key, value in attributes.items():
            if not _belongs_to_other_convention(key):
                # The node is arbitrary, because the references are not followed.
                references = references_in(Fragment(Node(0, ""), ("attributes", key), value))
                if next(references, None) is not None:
                    yield key

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return a coordinate for each array that attributes refer to, except attributes of other conventions."""
        coordinates: list[Coordinate] = []
        for key, text in array.attributes.texts.items():
            is_own = key == ATTRIBUTE.key
            if _belongs_to_other_convention(key) or not (is_own or may_refer(text)):
                continue
            attribute = array.attribute(key)
            references = [] if attribute is None else [*references_in(attribute)]
            if is_own and attribute is not None:
                # Following an item that is not a reference reports it.
                references += _items_without_reference(attribute)
            for reference in references:
                cost = partial(referred_to_by, key)
                coordinate = array.try_reporting(
                    _coordinate_referred_to, array, reference, cost=cost
                )
                coordinates += filter(None, [coordinate])
        return array.interpretation(*coordinates)


def _belongs_to_other_convention(key: str) -> bool:
    """Return whether the references of an attribute belong to other conventions."""
    return key in _OTHER_CONVENTIONS or key.startswith(_OTHER_PREFIXES)


def _items_without_reference(written: Fragment) -> list[Fragment]:
    """Return the items of a list that contain no reference, or any other value that contains no reference."""
    items = written.items() if isinstance(written.value, list) else [written]
    return [item for item in items if next(references_in(item), None) is None]


def _coordinate_referred_to(array: ArrayView, reference: Fragment) -> Coordinate | None:
    """Return the array that a reference points to as a coordinate, or raise XGroupError if it cannot be resolved.

    None if the reference points to a group, to a value in metadata, or to the array itself.
    """
    node = None
    with suppress(XGroupReferenceError):
        node = array.resolver.array(reference)
    if node is None:
        array.resolver.fragment(reference)
    if node is None or node == array.node:
        return None
    source = array.stored(Stored(node, fitting_dims(array, node)), reference)
    return Coordinate(node.name, source)
