"""What the JSON of `cs` says: the classes describe it, and are what is read.

Source: cs convention (R-CF/zarr_convention_cs). Where documents of different dates disagree, both
spellings are read. A part that is a reference stays a `Part`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.axes import EXAMPLE, Geolocation
from zarr_xgroup.conventions.crs import CRS_KEYS, cf_length
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    ByName,
    Items,
    Member,
    Model,
    Nested,
    Object,
    Parsed,
    Reader,
    ReferenceTo,
    Text,
    fields_of,
    got,
    shown,
    such_as,
    write,
)
from zarr_xgroup.conventions.proj_model import ProjObject
from zarr_xgroup.conventions.units import (
    CALENDAR,
    CALENDARS,
    EPOCH,
    UNIT_OF_TIME,
    UnitOfMeasure,
    Uom,
    cf_units_in_one_text,
    cf_units_of_measure,
    cf_units_of_time,
    faults_of,
    is_epoch,
)
from zarr_xgroup.conventions.values import explicit_values, two_numbers
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node, Part, pointer_to
from zarr_xgroup.metadata.references import WRAPPED

DOCUMENT = "cs convention (R-CF/zarr_convention_cs)"
TABLE = "OGC 18-005 (Referencing by coordinates)"

REQUIRED = Rule("cs/required", DOCUMENT, "cs; CRS; coordinate set; time")
FORM = Rule("cs/form", DOCUMENT, "cs; CRS; axis; coordinate set")
SPELLING = Rule("cs/spelling", DOCUMENT, "cs; CRS; axis; coordinate set")
ABBREVIATION = Rule("cs/abbreviation", DOCUMENT, "axis: abbreviation")
DIRECTION = Rule("cs/direction", TABLE, "Table 48: axis direction")
UNIQUE = Rule("cs/unique-abbreviations", TABLE, "Coordinate system axis")
DISTINCT = Rule("cs/distinct-names", DOCUMENT, "coordinate set: name")
TYPE = Rule("cs/type", DOCUMENT, "CRS: type")
VALUES = Rule("cs/values", DOCUMENT, "coordinate set: values")
INCREMENT = Rule("cs/increment", DOCUMENT, "values: regular")
BOUNDARIES = Rule("cs/boundaries", DOCUMENT, "coordinate set: boundaries")
EVERY = Rule("cs/axis-for-every-dimension", DOCUMENT, "axes")
LENGTH = Rule("cs/number-of-values", DOCUMENT, "values: explicit")

RULES = rules_in(vars())

#: The member of a coordinate set that has its values.
OF_SET = "values"

ABBREVIATIONS = ("X", "Y", "Z", "T")
_TYPES = ("compound", "planar", "vertical", "temporal", "undefined")
_TYPE_OF = {"X": "planar", "Y": "planar", "Z": "vertical", "T": "temporal"}
_POINTS = ("north", "south", "east", "west")
_DIRECTIONS = (
    *_POINTS,
    *("up", "down", "future", "past"),
    *(f"{side}{corner}" for side in ("north", "south") for corner in ("East", "West")),
    *(f"{point}{side}East" for point, side in (("north", "North"), ("south", "South"))),
    *(f"{point}{side}West" for point, side in (("north", "North"), ("south", "South"))),
    *(f"{point}{side}{point.title()}" for point in ("east", "west") for side in ("North", "South")),
    *(f"geocentric{axis}" for axis in "XYZ"),
    *(f"{line}{sign}" for line in ("column", "row") for sign in ("Positive", "Negative")),
    *(f"display{side}" for side in ("Right", "Left", "Up", "Down")),
    *("towards", "away", "awayFrom", "forward", "aft"),
    *("port", "starboard", "clockwise", "counterClockwise", "unspecified"),
)

_NAME = Member(example='"name": "height"')
_WORDS = Member(example='"name": "height"', severity="warning")
_ATTRIBUTES = Member(example='"attributes": {"long_name": "..."}')


class _CsModel(Model, frozen=True, kw_only=True):
    """An object of `cs`."""

    form: ClassVar[Rule] = FORM
    required: ClassVar[Rule | None] = REQUIRED
    spelling: ClassVar[Rule | None] = SPELLING
    others: ClassVar[frozenset[str]] = frozenset({"name", "type", "description", *CRS_KEYS})


def _first_and_step(written: Fragment) -> tuple[float, float]:
    """Return the first value, and what each next one is more, or raise XGroupMetadataError."""
    first, step = two_numbers(written)
    if step == 0:
        example = f'"explicit": [{first}]'
        remedy = _("write the step, or of a single value {example}").format(example=example)
        raise written.error(_("has a step of 0: all values are the same"), INCREMENT, remedy)
    return first, step


class _ValuesModel(_CsModel, frozen=True, kw_only=True):
    """An object that gives values in one of several ways."""

    #: The members of which one has to be there, and what may be written.
    exactly_one: ClassVar[tuple[str, ...]]
    example: ClassVar[str]

    @classmethod
    def member(cls, fragment: Fragment, key: str) -> Fragment | None:
        """Return a member; ``external`` is spelled ``{"ref": {"external": ...}}``, too."""
        inner = fragment.get(WRAPPED) if key == "external" else None
        return fragment.get(key) or (None if inner is None else inner.get(key))

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down that it is not one way, and the spelling that has the reference around the member."""
        given = [key for key in cls.exactly_one if cls.member(fragment, key) is not None]
        spelt = () if given else cls.misspelt(fragment.value).values()
        if len(given) != 1 and not any(key in cls.exactly_one for key in spelt):
            reason = _("must have exactly one of {kinds}").format(kinds=", ".join(cls.exactly_one))
            reader.report(reader.form, fragment, reason, such_as(cls.example))
            for key in given:
                found.pop(key, None)
        external = fragment.get("external") or cls.member(fragment, "external")
        if external is not None and fragment.get(WRAPPED) is not None:
            text = _("is read as {key!r}, which belongs around it").format(key="external")
            remedy = write("external", {WRAPPED: external.value})
            place = Fragment(fragment.node, (*fragment.keys, WRAPPED), None)
            reader.report(SPELLING, place, text, remedy, severity="warning", value_kept=True)

    def given(self, node: Node) -> Fragment:
        """Return the place of what gives the values, as it is written in a node."""
        keys = (it for it in self.exactly_one if getattr(self, it) is not None)
        return self.place(node, *islice(keys, 1))


class Values(_ValuesModel, frozen=True, kw_only=True):
    """Values: regular, explicit, or those of an array.

    Attributes
    ----------
    regular : tuple of float or None
        The first value, and the step.
    explicit : numpy.ndarray or None
        All of them.
    external : Part or None
        A reference to an array.
    """

    form: ClassVar[Rule] = VALUES
    exactly_one: ClassVar[tuple[str, ...]] = ("regular", "explicit", "external")
    example: ClassVar[str] = '"values": {"regular": [first, step]}'

    regular: Annotated[
        tuple[float, float] | None,
        Parsed(_first_and_step),
        Member(example='"regular": [first, step]'),
    ] = None
    explicit: Annotated[
        Any,
        Parsed(explicit_values),
        Member(example='"explicit": [1.5, 2.5]'),
    ] = None
    external: Annotated[Part | None, ReferenceTo()] = None


class Boundaries(_ValuesModel, frozen=True, kw_only=True):
    """Boundaries of cells: offsets from each value, or an array."""

    form: ClassVar[Rule] = BOUNDARIES
    exactly_one: ClassVar[tuple[str, ...]] = ("regular", "external")
    example: ClassVar[str] = '"boundaries": {"regular": [-0.5, 0.5]} (offsets from each value)'

    regular: Annotated[tuple[float, float] | None, Parsed(two_numbers), Member(example=example)] = (
        None
    )
    external: Annotated[Part | None, ReferenceTo()] = None
    name: Annotated[str, Text(), _NAME] = ""
    attributes: Annotated[Mapping[str, Any], Object(), _ATTRIBUTES] = {}

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down that both sides of a cell are the same offset from its value."""
        super().look_further(fragment, found, reader)
        below, above = found.get("regular", (0, 1))
        if below == above:
            place = fragment.required("regular")
            reason = _("{value}: cells have no width").format(value=shown(place.value))
            remedy = such_as(cls.example)
            reader.report(cls.form, place, reason, remedy, severity="warning", value_kept=True)


class Parametric(_CsModel, frozen=True, kw_only=True):
    """A vertical coordinate that follows from terms by a formula."""

    formula: Annotated[
        str, Text(), Member(required=True, example='"formula": "atmosphere_sigma_coordinate"')
    ] = ""
    terms: Annotated[
        tuple[tuple[str, Values], ...],
        ByName(Nested(Values), least=1),
        Member(required=True, example='"terms": {"sigma": {"external": {"node": "sigma"}}}'),
    ] = ()


def _epoch(value: Fragment) -> str:
    """Return an epoch, or raise XGroupMetadataError: what another text means is not guessed."""
    return _checked_epoch(value, value.as_text())


def _reference(value: Fragment) -> str:
    """Return units that are written as one text, with their epoch checked."""
    units = cf_units_in_one_text(value.as_text())
    _unit, since, epoch = units.partition(" since ")
    if since:
        _checked_epoch(value, epoch)
    return units


def _checked_epoch(place: Fragment, epoch: str) -> str:
    if is_epoch(epoch):
        return epoch
    raise place.error(
        _(
            "must give a date and time as ISO 8601 writes it (such as {example}), got {value!r}; "
            "the times were left undecoded"
        ).format(example="2028-02-01T00:00:00", value=place.value)
    )


class Time(_CsModel, frozen=True, kw_only=True):
    """What the numbers of a temporal axis count."""

    unit: Annotated[
        str,
        Text(),
        Member(required=True, unless=("reference",), example='"unit": "days"'),
    ] = ""
    epoch: Annotated[
        str,
        Parsed(_epoch),
        Member(required=True, unless=("reference",), example='"epoch": "2028-02-01T00:00:00"'),
    ] = ""
    reference: Annotated[
        str,
        Parsed(_reference),
        Member(example='"unit": "days", "epoch": "2028-02-01T00:00:00"'),
    ] = ""
    calendar: Annotated[
        str,
        Text(CALENDARS, any_case=True, rule=CALENDAR, severity="error"),
        Member(example='"calendar": "standard"'),
    ] = ""

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down a unit, and an epoch, by which times cannot be decoded; an open tells it of the coordinate."""
        unit, epoch = (found.get(key, "") for key in ("unit", "epoch"))
        parts = {UNIT_OF_TIME: "unit", EPOCH: "epoch"}
        units = f"{unit} since {epoch}"
        if "reference" in found:
            units, parts = found["reference"], dict.fromkeys(parts, "reference")
        remedies = {
            UNIT_OF_TIME: _("write seconds, minutes, hours or days"),
            EPOCH: such_as('"epoch": "2028-02-01T00:00:00"'),
        }
        for rule, text in faults_of(units, found.get("calendar", "")):
            if parts.get(rule) in found:  # what is wrong with the calendar is told by its kind
                place = fragment.required(parts[rule])
                reader.report(rule, place, text, remedies[rule], value_kept=True)

    @property
    def units(self) -> Mapping[str, str]:
        """CF ``units`` and ``calendar``; none where any of it cannot be used."""
        if self.wrong_with("calendar") is not None:
            return {}
        units = self.reference
        if not units and self.unit and self.epoch:
            units = cf_units_of_time(self.unit, self.epoch)
        if not units:
            return {}
        return {"units": units} | ({"calendar": self.calendar} if self.calendar else {})


class Described(_CsModel, frozen=True, kw_only=True):
    """What is said of positions along an axis."""

    direction: Annotated[
        str, Text(_DIRECTIONS, any_case=True, rule=DIRECTION), Member(example='"direction": "east"')
    ] = ""
    unit: Annotated[
        str | Uom | None,
        UnitOfMeasure(or_text=True),
        Member(example='"unit": "m"'),
    ] = None
    time: Annotated[
        Time | None,
        Nested(Time),
        Member(example='"time": {"unit": "days", "epoch": "2000-01-01", "calendar": "standard"}'),
    ] = None
    attributes: Annotated[Mapping[str, Any], Object(), _ATTRIBUTES] = {}

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down a unit beside a time, which has its own."""
        unit = fragment.get("unit")
        if unit is not None and fragment.get("time") is not None:
            reason = _("says nothing beside {key!r}").format(key="time")
            remedy = _("leave one of {keys} out").format(keys="unit, time")
            reader.report(cls.form, unit, reason, remedy, severity="warning", value_kept=True)

    def units(self, standard_name: str | None) -> Mapping[str, str]:
        """Return CF ``units``, and ``calendar`` of times, of what has a standard name, or none."""
        if self.time is not None:
            return self.time.units
        units = cf_units_of_measure(self.unit, standard_name)
        return {key: cf_length(unit) for key, unit in units.items()}

    def lost_of(self, axis: str) -> Iterator[tuple[Finding, str]]:
        """Yield which members cannot be used, and what an axis is without for that; not its values."""
        within = (it.all_wrong() for it in (self.unit, self.time) if isinstance(it, Model))
        for wrong in (*self.wrong, *chain.from_iterable(within)):
            key, *meant = (it.keys[len(self.keys)] for it in (wrong.place, *wrong.related))
            if OF_SET not in (key, *meant) and key != "coordinates":
                yield wrong, _part_of(axis, key)


def _part_of(axis: str, key: str) -> str:
    """Return what a member says of an axis."""
    if key == "boundaries":
        return _("the boundaries of {name!r}").format(name=axis)
    if key == "parametric":
        return _("the formula of {name!r}").format(name=axis)
    return _("{key!r} of axis {axis!r}").format(key=key, axis=axis)


class CoordinateSet(Described, frozen=True, kw_only=True):
    """One set of coordinates along an axis."""

    name: Annotated[str, Text(), _NAME] = ""
    values: Annotated[
        Values | None,
        Nested(Values),
        Member(
            required=True, unless=("parametric",), example='"values": {"regular": [first, step]}'
        ),
    ] = None
    boundaries: Annotated[
        Boundaries | None,
        Nested(Boundaries),
        Member(
            rule=BOUNDARIES,
            example='"boundaries": {"regular": [-0.5, 0.5]} (offsets from each value)',
        ),
    ] = None
    parametric: Annotated[
        Parametric | None,
        Nested(Parametric),
        Member(example='"parametric": {"formula": "atmosphere_sigma_coordinate", "terms": {...}}'),
    ] = None


class Axis(Described, frozen=True, kw_only=True):
    """An axis of a CRS."""

    name: Annotated[str, Text(), _WORDS] = ""
    abbreviation: Annotated[
        str, Text(ABBREVIATIONS, rule=ABBREVIATION), Member(example='"abbreviation": "X"')
    ] = ""
    coordinates: Annotated[
        tuple[CoordinateSet | Part, ...],
        Items(Nested(CoordinateSet, or_reference=True)),
        Member(
            example='"coordinates": [{"values": {"regular": [0, 1]}}]', called=("coord", "coords")
        ),
    ] = ()

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down names that an earlier set of the axis has."""
        super().look_further(fragment, found, reader)
        known: set[str] = set()
        for item in found.get("coordinates", ()):
            name = item.name if isinstance(item, CoordinateSet) else ""
            if name in known:
                text = _("{value} is the name of another set of the axis, too")
                reader.report(
                    DISTINCT,
                    item.place(fragment.node, "name"),
                    text.format(value=shown(name)),
                    _('write another "name", or leave it out'),
                    severity="warning",
                    value_kept=True,
                )
            known |= {name} - {""}


_IDENTITY = Member(key="id", example='"id": {"proj:code": "EPSG:4326"}')


class System(_CsModel, frozen=True, kw_only=True):
    """A coordinate reference system."""

    type: Annotated[str, Text(_TYPES, rule=TYPE)] = ""
    name: Annotated[str, Text(), Member(example='"name": "WGS 84"', severity="warning")] = ""
    description: Annotated[
        str, Text(), Member(example='"description": "..."', severity="warning")
    ] = ""
    axes: Annotated[
        tuple[tuple[str, Axis | Part], ...],
        ByName(Nested(Axis, or_reference=True), or_list=True, least=1),
        Member(
            required=True,
            example='"axes": {"lat": {"abbreviation": "Y", "coordinates": [...]}}',
        ),
    ] = ()
    id: Annotated[Part | None, ProjObject(), _IDENTITY] = None
    geolocation: Annotated[
        Geolocation | Part | None,
        Nested(Geolocation, or_reference=True),
        Member(rule=Geolocation.form, example=EXAMPLE),
    ] = None

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down abbreviations that two axes have, and that its type is missing.

        The members of a proj object that stand in it count as its ``id``, if it has none.
        """
        reader.wrong += _doubled_abbreviations(found.get("axes", ()))
        written = fragment.get("axes")
        if written is not None and isinstance(written.value, OBJECT):
            _require_type(fragment, found.get("axes", ()), reader)
        is_lacking = "id" not in found or not any(map(found["id"].value.get, CRS_KEYS))
        if is_lacking and any(fragment.get(key) is not None for key in CRS_KEYS):
            found["id"] = ProjObject().read(fragment, fields_of(cls)["id"][1], reader)


def _require_type(
    fragment: Fragment, axes: Iterable[tuple[str, Axis | Part]], reader: Reader
) -> None:
    """Take down that a CRS says no type."""
    if "type" in fragment.value or "type" in System.misspelt(fragment.value).values():
        return
    place = Fragment(fragment.node, (*fragment.keys, "type"), None)
    letters = (it.abbreviation if isinstance(it, Axis) else "" for _name, it in axes)
    kinds = {_TYPE_OF.get(it, "undefined") for it in letters}
    remedy = write("type", kinds.pop() if len(kinds) == 1 else "compound")
    reader.report(TYPE, place, _("is missing"), remedy, severity="warning", value_kept=True)


def _doubled_abbreviations(axes: Iterable[tuple[str, Axis | Part]]) -> Iterator[Finding]:
    """Yield abbreviations of axes that an earlier axis has, which is called otherwise."""
    known: dict[str, str] = {}
    for name, axis in axes:
        value = axis.abbreviation if isinstance(axis, Axis) else ""
        if known.get(value, name) != name:
            text = _("{value} is the abbreviation of axis {other!r}, too").format(
                value=shown(value), other=known[value]
            )
            others = ", ".join(it for it in ABBREVIATIONS if it not in known)
            remedy = _('write another "abbreviation" ({others}), or leave it out')
            place = Place("", pointer_to((*axis.keys, "abbreviation")))
            yield Finding(UNIQUE, place, text, remedy.format(others=others), "warning")
        elif value in ABBREVIATIONS:
            known.setdefault(value, name)


class Cs(_CsModel, frozen=True, kw_only=True):
    """The attribute ``cs``."""

    crs: Annotated[
        tuple[System | Part, ...],
        Items(Nested(System, or_reference=True), least=1),
        Member(required=True, example='"crs": [{"axes": {...}}]'),
    ] = ()
    name: Annotated[str, Text(), Member(example='"name": "grid"', severity="warning")] = ""
    id: Annotated[Part | None, ProjObject(), _IDENTITY] = None
    attributes: Annotated[Mapping[str, Any], Object(), _ATTRIBUTES] = {}

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down abbreviations that axes of several CRSs have, if they are others."""
        systems = [it for it in found.get("crs", ()) if isinstance(it, System)]
        told = {it.place for system in systems for it in system.wrong}
        every = chain.from_iterable(it.axes for it in systems)
        reader.wrong += (it for it in _doubled_abbreviations(every) if it.place not in told)


@dataclass(frozen=True)
class _Shared(ByName):
    """Systems by name, unless an attribute that is called so is that of others: it has none at all."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the systems."""
        items = value.value.values() if isinstance(value.value, OBJECT) else ()
        if not any(isinstance(it, OBJECT) and "axes" in it for it in items):
            expected = _("CRSs by name, with their axes")
            reader.report(member, value, got(expected, value.value), severity="warning")
            return UNUSABLE
        return super().read(value, member, reader)


#: The attribute of an array.
ATTRIBUTE = Attribute(
    "cs", Nested(Cs), FORM, '"cs": {"crs": [{"axes": {...}}]}', on="array", marks=("crs",)
)
#: The attribute of a group whose CRSs arrays refer to.
SHARED = Attribute(
    "crs",
    _Shared(Nested(System, or_reference=True), least=1),
    FORM,
    '"crs": {"WGS84": {"axes": {...}}}',
    on="group",
    is_needed=False,
)
