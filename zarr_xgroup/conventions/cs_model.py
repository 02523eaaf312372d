"""What the JSON of `cs` says, as frozen models: parsed once, whichever arrays carry it.

Models know the way to each of their parts, not the node that they are written in: the same text
on a thousand arrays is one model. Where documents of different dates disagree, both spellings are
read. A part that is a reference, or that cannot be one of the expected kind, stays a `Part`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from zarr_xgroup.conventions.crs import CRS_KEYS
from zarr_xgroup.conventions.geolocation import named_axes
from zarr_xgroup.conventions.spelling import misspelt
from zarr_xgroup.conventions.timeunits import cf_units, cf_units_of_reference, is_epoch
from zarr_xgroup.conventions.uom import unit_of
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Keys, Node, Part, kind_of
from zarr_xgroup.metadata.references import is_reference

T = TypeVar("T")

KINDS_OF_VALUES = ("regular", "explicit", "external")

#: The keys of each kind of object, as the convention has them.
_KEYS_OF_CS = frozenset({"crs", "id", "attributes"})
_KEYS_OF_SYSTEM = frozenset({"axes", "id", "geolocation"})
_KEYS_OF_AXIS = frozenset({"abbreviation", "direction", "coordinates", "attributes"})
_KEYS_OF_SET = frozenset(
    {"direction", "unit", "time", "values", "boundaries", "parametric", "attributes"}
)
_KEYS_OF_TIME = frozenset({"unit", "epoch", "reference", "calendar"})
#: Keys that any of them may have besides.
_ANYWHERE = frozenset({"name", "type", "description", *CRS_KEYS})


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a part.

    Attributes
    ----------
    keys : tuple of str
        The way to the part.
    reason : str
        What is wrong with it.
    meant : str
        Set for a key that is not known: the one that was probably meant.
    """

    keys: Keys
    reason: str
    meant: str = ""

    def at(self, node: Node) -> XGroupMetadataError:
        """Return the error of the part as it is written in a node."""
        return Fragment(node, self.keys, None).error(self.reason)


class _Parsing:
    """The parsing of one model: what is wrong with parts does not stop it."""

    def __init__(self) -> None:
        self.wrong: list[Wrong] = []

    def attempt(self, make: Callable[..., T], *arguments: Any) -> T | None:
        """Return what a function gives, or None after taking down what is wrong."""
        try:
            return make(*arguments)
        except XGroupMetadataError as error:
            self.wrong.append(Wrong(error.keys, error.reason))
            return None

    def text(self, fragment: Fragment, key: str) -> str:
        """Return a member that must be a text, "" where there is none."""
        member = fragment.get(key)
        return (self.attempt(member.as_text) or "") if member is not None else ""

    def spelling(self, fragment: Fragment, known: frozenset[str], but: str = "") -> None:
        """Take down keys that were probably meant to be others; `but` that one is told elsewhere."""
        for key, meant in _misspelt(fragment, known).items():
            if meant != but:
                self.wrong.append(Wrong((*fragment.keys, key), _not_known(meant), meant))

    def identity(self, fragment: Fragment) -> None:
        """Take down why ``id`` is no proj object, if it is none."""
        identity = fragment.get("id")
        if identity is None or is_reference(identity.value):
            return
        if isinstance(identity.value, Mapping):
            self.spelling(identity, frozenset(CRS_KEYS))
            return
        reason = _("must be a proj object such as {example}, got {value!r}").format(
            example='{"proj:code": "EPSG:4326"}', value=identity.value
        )
        self.wrong.append(Wrong(identity.keys, reason))

    def object(self, fragment: Fragment, key: str) -> Mapping[str, Any]:
        """Return a member that must be an object, an empty one where there is none."""
        member = fragment.get(key)
        return (self.attempt(member.as_object) or {}) if member is not None else {}


def _identified_itself(fragment: Fragment) -> Fragment | None:
    """Return an object that has the members of ``id`` itself, None for another one."""
    return fragment if any(fragment.get(key) is not None for key in CRS_KEYS) else None


def _part(fragment: Fragment | None) -> Part | None:
    return None if fragment is None else fragment.part


def _misspelt(fragment: Fragment, known: frozenset[str]) -> Mapping[str, str]:
    """Return the keys of an object that were probably meant to be known ones."""
    keys = fragment.value if isinstance(fragment.value, OBJECT) else ()
    return misspelt(keys, known, _ANYWHERE)


def _not_known(meant: str) -> str:
    return _("is not known there; was {meant!r} meant?").format(meant=meant)


def _required(fragment: Fragment, key: str, known: frozenset[str]) -> Fragment:
    """Return a member, or raise XGroupMetadataError that says what was meant to be it."""
    fragment.as_object()
    member = fragment.get(key)
    if member is None:
        raise fragment.error(_lacks(fragment, key, known))
    return member


def _lacks(fragment: Fragment, key: str, known: frozenset[str]) -> str:
    """Return the reason for what lacks a key, with what was probably meant to be it."""
    given = (given for given, meant in _misspelt(fragment, known).items() if meant == key)
    reason = _("has no {key!r}").format(key=key)
    written = next(given, None)
    if written is None:
        return reason
    return _("{reason}; was {written!r} meant to be it?").format(reason=reason, written=written)


def _linked(fragment: Fragment, parse: Callable[[Fragment], T]) -> T | Part:
    """Return a part as a model, or as it is if it is a reference or no object."""
    if is_reference(fragment.value) or not isinstance(fragment.value, OBJECT):
        return fragment.part
    return parse(fragment)


class Values(msgspec.Struct, frozen=True):
    """How values are given: ``regular``, ``explicit`` or ``external``.

    Attributes
    ----------
    kind : str
        One of `KINDS_OF_VALUES`.
    part : Part
        The numbers, the list, or the reference.
    """

    kind: str
    part: Part


class CoordinateSet(msgspec.Struct, frozen=True):
    """One set of coordinates along an axis, or what an axis says of its positions.

    Attributes
    ----------
    place : Part
        Where it is written.
    name : Part or None
        Its name.
    direction : str
        As it is written, "" if it is not.
    attributes : mapping
        Of the coordinate.
    units : mapping
        CF ``units``, and ``calendar`` for times.
    values : Values, Wrong or None
        What the values are.
    boundaries, parametric : Part or None
        As they are written.
    wrong : tuple of Wrong
        What is wrong with its parts.
    """

    place: Part
    name: Part | None
    direction: str
    attributes: Mapping[str, Any]
    units: Mapping[str, str]
    values: Values | Wrong | None
    boundaries: Part | None
    parametric: Part | None
    wrong: tuple[Wrong, ...]

    @classmethod
    def parse(cls, fragment: Fragment) -> CoordinateSet:
        """Parse an object."""
        parsing = _Parsing()
        parsing.spelling(fragment, _KEYS_OF_SET, but="values")
        return cls._parse(fragment, parsing, _values(fragment))

    @classmethod
    def of_axis(cls, fragment: Fragment) -> CoordinateSet:
        """Parse what an axis says of its positions, which need no values."""
        return cls._parse(fragment, _Parsing(), None)

    @classmethod
    def _parse(
        cls, fragment: Fragment, parsing: _Parsing, values: Values | Wrong | None
    ) -> CoordinateSet:
        attributes = parsing.object(fragment, "attributes")
        units = parsing.attempt(_units, fragment) or {}
        direction = parsing.text(fragment, "direction")
        return cls(
            Part(fragment.keys, None),
            _part(fragment.get("name")),
            direction,
            attributes,
            units,
            values,
            _part(fragment.get("boundaries")),
            _part(fragment.get("parametric")),
            tuple(parsing.wrong),
        )

    def named(self, default: str, node: Node) -> str:
        """Return its name, or a default; raise XGroupMetadataError if it is no text."""
        return default if self.name is None else self.name.at(node).as_text()


class Axis(msgspec.Struct, frozen=True):
    """An axis of a CRS.

    Attributes
    ----------
    as_set : CoordinateSet
        What it says of its positions.
    abbreviation : str
        ``X``, ``Y``, ``Z``, ``T``, as it is written.
    sets : tuple of CoordinateSet or Part
        Its coordinate sets.
    wrong : tuple of Wrong
        What is wrong with its parts.
    wrong_sets : tuple of Wrong
        Why it has no coordinate sets.
    """

    as_set: CoordinateSet
    abbreviation: str
    sets: tuple[CoordinateSet | Part, ...]
    wrong: tuple[Wrong, ...]
    wrong_sets: tuple[Wrong, ...]

    @classmethod
    def parse(cls, fragment: Fragment) -> Axis:
        """Parse an object."""
        parsing, listing = _Parsing(), _Parsing()
        # Without its coordinates an axis would be taken to have none.
        listing.spelling(fragment, _KEYS_OF_AXIS)
        abbreviation = parsing.text(fragment, "abbreviation")
        parsing.object(fragment, "attributes")
        parsing.text(fragment, "direction")
        sets = fragment.get("coordinates")
        items = None if sets is None else listing.attempt(lambda: list(sets.items()))
        return cls(
            CoordinateSet.of_axis(fragment),
            abbreviation,
            tuple(_linked(item, CoordinateSet.parse) for item in items or ()),
            tuple(parsing.wrong),
            tuple(listing.wrong),
        )


class System(msgspec.Struct, frozen=True):
    """A coordinate reference system.

    Attributes
    ----------
    axes : tuple of tuple
        The name of each axis, and the axis.
    name : object
        Its name.
    identity : Part or None
        What says which one it is: ``id``, or itself where the members of that stand in it.
    geolocation : Part or None
        As it is written.
    wrong : tuple of Wrong
        What is wrong with its parts.
    """

    axes: tuple[tuple[str, Axis | Part], ...]
    name: Any = None
    identity: Part | None = None
    geolocation: Part | None = None
    wrong: tuple[Wrong, ...] = ()

    @classmethod
    def parse(cls, fragment: Fragment) -> System:
        """Parse an object."""
        parsing = _Parsing()
        parsing.spelling(fragment, _KEYS_OF_SYSTEM, but="axes")
        parsing.identity(fragment)
        axes = parsing.attempt(lambda: _axes(_required(fragment, "axes", _KEYS_OF_SYSTEM)))
        name = fragment.get("name")
        return cls(
            tuple((name, _linked(axis, Axis.parse)) for name, axis in axes or ()),
            None if name is None else name.value,
            _part(fragment.get("id") or _identified_itself(fragment)),
            _part(fragment.get("geolocation")),
            tuple(parsing.wrong),
        )


class Cs(msgspec.Struct, frozen=True):
    """The attribute ``cs``.

    Attributes
    ----------
    systems : tuple of System or Part
        Its coordinate reference systems.
    identity : Part or None
        The ``id`` that overrides those of the systems.
    wrong : tuple of Wrong
        What is wrong with its parts.
    """

    systems: tuple[System | Part, ...]
    identity: Part | None = None
    wrong: tuple[Wrong, ...] = ()

    @classmethod
    def parse(cls, fragment: Fragment) -> Cs:
        """Parse the attribute."""
        parsing = _Parsing()
        parsing.spelling(fragment, _KEYS_OF_CS, but="crs")
        parsing.identity(fragment)
        items = parsing.attempt(lambda: list(_required(fragment, "crs", _KEYS_OF_CS).items()))
        systems = tuple(_linked(item, System.parse) for item in items or ())
        return cls(systems, _part(fragment.get("id")), tuple(parsing.wrong))


def _axes(axes: Fragment) -> list[tuple[str, Fragment]]:
    if not isinstance(axes.value, dict | list):
        raise axes.error(
            _("must be an object or a list, got {kind}").format(kind=kind_of(axes.value))
        )
    found = list(named_axes(axes))
    if len(found) != len(axes.value):
        raise axes.error(_("must give each axis a name"))
    return found


def _values(item: Fragment) -> Values | Wrong | None:
    """Return the values of a coordinate set; None if there is nothing that was meant to be them."""
    values = item.get("values")
    if values is None:
        is_meant = "values" in _misspelt(item, _KEYS_OF_SET).values()
        return Wrong(item.keys, _lacks(item, "values", _KEYS_OF_SET)) if is_meant else None
    try:
        kind, value = kind_of_values(values, KINDS_OF_VALUES)
    except XGroupMetadataError as error:
        return Wrong(error.keys, error.reason)
    return Values(kind, value.part)


def kind_of_values(values: Fragment, kinds: tuple[str, ...]) -> tuple[str, Fragment]:
    """Return how values are given, and the value of that member.

    ``external`` is spelled ``{"external": ref}`` or ``{"ref": {"external": ref}}``.

    Raises
    ------
    XGroupMetadataError
        If they are not given in exactly one of the ways.
    """
    values.as_object()
    inner = values.get("ref")
    if inner is not None and inner.get("external") is not None:
        values = inner
    given = [(kind, member) for kind in kinds if (member := values.get(kind)) is not None]
    if len(given) != 1:
        raise values.error(_("must have exactly one of {kinds}").format(kinds=", ".join(kinds)))
    return given[0]


def _units(item: Fragment) -> dict[str, str]:
    time, unit = item.get("time"), item.get("unit")
    if time is not None:
        return _time_units(time)
    return {"units": unit_of(unit)} if unit is not None else {}


def _time_units(time: Fragment) -> dict[str, str]:
    """Return CF units and calendar of a ``time`` object, in its older or newer spelling."""
    time.as_object()
    for key, meant in _misspelt(time, _KEYS_OF_TIME).items():
        if meant == "calendar":
            raise Fragment(time.node, (*time.keys, key), None).error(_not_known(meant))
    reference, calendar = time.get("reference"), time.get("calendar")
    if reference is not None:
        units = cf_units_of_reference(reference.as_text())
        _unit, since, epoch = units.partition(" since ")
        if since:
            _check_epoch(reference, epoch)
    else:
        unit = _required(time, "unit", _KEYS_OF_TIME).as_text()
        start = _required(time, "epoch", _KEYS_OF_TIME)
        units = cf_units(unit, start.as_text())
        _check_epoch(start, start.as_text())
    return {"units": units} | ({"calendar": calendar.as_text()} if calendar is not None else {})


def _check_epoch(place: Fragment, epoch: str) -> None:
    """Raise XGroupMetadataError where an epoch is none: what it means is not guessed."""
    if is_epoch(epoch):
        return
    raise place.error(
        _(
            "must give a date and time as ISO 8601 writes it (such as {example}), got {value!r}; "
            "the times were left undecoded"
        ).format(example="2028-02-01T00:00:00", value=place.value)
    )
