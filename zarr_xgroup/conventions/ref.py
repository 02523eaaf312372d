"""The `ref` service convention: references to arrays in any attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import fitting_dims, own_or_referred
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


@dataclass(frozen=True)
class _References(ReferenceTo):
    """The attribute ``ref``, with one reference or several; a value without any was meant as one."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the whole value as a `Part`, after reporting items that are no references.

        `RefHandler.interpret` follows those that are.
        """
        for item in _items_without_reference(value):
            reason = self.why_none(item, _("a reference"))
            reader.refuse(item, reason, value_kept=True)
        return value.part


#: The attribute that is made for references; others may hold them, too.
ATTRIBUTE = Attribute(WRAPPED, _References(), REFERENCE, '"ref": {"node": "time"}', is_needed=False)


class RefHandler(ConventionHandler):
    """Attaches every array that an attribute of the array refers to, as a coordinate of the array's own name."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "d89b30cf-ed8c-43d5-9a16-b492f0cd8786"
    repositories = ("R-CF/zarr_convention_ref",)
    implies = ("proj",)
    described = (ATTRIBUTE,)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array itself declares the convention, or the user assumes it.

        A group that declares it is not enough.
        """
        return cls in array.declared or array.only_assumes(cls)

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of attributes that hold references and belong to no other convention."""
        for key, value in attributes.items():
            if not _belongs_to_other_convention(key):
                # Any node serves: references are only found, not followed.
                references = references_in(Fragment(Node(0, ""), ("attributes", key), value))
                if next(references, None) is not None:
                    yield key

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return a coordinate for each array that attributes refer to, other conventions' attributes left out."""
        coordinates: list[Coordinate] = []
        for key in array.attributes:
            is_own = key == ATTRIBUTE.key
            if _belongs_to_other_convention(key) or not (
                is_own or may_refer(array.attributes.text(key))
            ):
                continue
            attribute = array.attribute(key)
            references = [] if attribute is None else [*references_in(attribute)]
            if is_own and attribute is not None:
                # Following what is no reference in ``ref`` reports it.
                references += _items_without_reference(attribute)
            for reference in references:
                lost = partial(referred_to_by, key)
                coordinate = array.try_reporting(
                    _coordinate_referred_to, array, reference, cost=lost
                )
                coordinates += filter(None, [coordinate])
        return array.interpretation(*coordinates)


def _belongs_to_other_convention(key: str) -> bool:
    """Tell whether the references of an attribute belong to other conventions."""
    return key in _OTHER_CONVENTIONS or key.startswith(_OTHER_PREFIXES)


def _items_without_reference(written: Fragment) -> list[Fragment]:
    """Return the items of a list that hold no reference; of another value, the value itself if it holds none."""
    meant = written.items() if isinstance(written.value, list) else [written]
    return [item for item in meant if next(references_in(item), None) is None]


def _coordinate_referred_to(array: ArrayView, reference: Fragment) -> Coordinate | None:
    """Return the array that a reference leads to as a coordinate, or raise XGroupError if it leads nowhere.

    None if it leads to a group, to a value in metadata, or to the array itself: that attaches nothing.
    """
    node = None
    with suppress(XGroupReferenceError):
        node = array.resolver.array(reference)
    if node is None:
        array.resolver.fragment(reference)
    if node is None or node == array.node:
        return None
    node = own_or_referred(array, node)
    source = array.stored(Stored(node, fitting_dims(array, node)), reference)
    return Coordinate(node.name, source)
