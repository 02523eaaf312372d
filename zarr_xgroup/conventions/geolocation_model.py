"""The JSON of the convention `geolocation`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.descriptions import (
    Attribute,
    Member,
    Model,
    Nested,
    Reader,
    ReferenceTo,
    such_as,
)
from zarr_xgroup.conventions.proj_model import ProjObject
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Part

DOCUMENT = "geolocation convention (R-CF/zarr_convention_geolocation)"

KINDS = Rule("geolocation/kinds", DOCUMENT, "geodetic, planar")
PAIR = Rule("geolocation/x-and-y", DOCUMENT, "x, y")

RULES = rules_in(vars())

#: What may stand in it.
GEODETIC, PLANAR = KINDS_OF_ARRAYS = ("geodetic", "planar")

_EXAMPLE = '"geodetic": {"x": {"node": "longitude"}, "y": {"node": "latitude"}}'
_PAIR = Member(example='{"x": {"node": ...}, "y": {"node": ...}}', rule=PAIR)


class Arrays(Model, frozen=True, kw_only=True):
    """Two arrays of positions."""

    form: ClassVar[Rule] = PAIR

    x: Annotated[
        Part | None, ReferenceTo(), Member(required=True, example='"x": {"node": "longitude"}')
    ] = None
    y: Annotated[
        Part | None, ReferenceTo(), Member(required=True, example='"y": {"node": "latitude"}')
    ] = None
    crs: Annotated[Part | None, ProjObject()] = None
    id: Annotated[Part | None, ProjObject()] = None

    @property
    def identities(self) -> tuple[Part, ...]:
        """What says their CRS, in the order in which it counts."""
        return tuple(it for it in (self.crs, self.id) if it is not None)


class Geolocation(Model, frozen=True, kw_only=True):
    """The arrays that say where the cells of a grid are."""

    form: ClassVar[Rule] = KINDS

    geodetic: Annotated[Arrays | None, Nested(Arrays), _PAIR] = None
    planar: Annotated[Arrays | None, Nested(Arrays), _PAIR] = None

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down that there are no arrays at all."""
        if not (any(it.topic for it in reader.wrong) or any(map(fragment.get, KINDS_OF_ARRAYS))):
            reason = _("has neither 'geodetic' nor 'planar'")
            reader.report(reader.form, fragment, reason, such_as(_EXAMPLE))

    @property
    def kinds(self) -> Iterator[tuple[str, Arrays]]:
        """The arrays there are, and of which kind."""
        for kind in KINDS_OF_ARRAYS:
            arrays = getattr(self, kind)
            if arrays is not None:
                yield kind, arrays

    @property
    def references(self) -> tuple[Part, ...]:
        """What refers to the arrays."""
        found = (it for _kind, arrays in self.kinds for it in (arrays.x, arrays.y))
        return tuple(it for it in found if it is not None)


ATTRIBUTE = Attribute(
    "geolocation",
    Nested(Geolocation, or_reference=True),
    KINDS,
    _EXAMPLE,
    marks=KINDS_OF_ARRAYS,
)
