"""The `cs` principal convention: coordinate sets for every axis of an array.

It follows OGC 18-005 (referencing by coordinates). A ``cs`` has coordinate reference systems, a CRS has axes, and an
axis has coordinate sets. Each of these objects may be replaced by a reference. If versions of the convention differ in
a key, both spellings are read.

Source: cs convention (R-CF/zarr_convention_cs).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
from msgspec.structs import replace

from zarr_xgroup.conventions.array import (
    ArrayView,
    NodeView,
    own_dims_of,
    shape_of,
)
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import (
    dereferenced,
    fitting_dims,
)
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import (
    ALONG,
    CRS_KEYS,
    Crs,
    ProjObject,
    cf_length,
    is_geographic,
)
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
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
    shown,
    such_as,
    write,
)
from zarr_xgroup.conventions.geolocation import (
    EXAMPLE,
    Geolocation,
    geolocation_coordinates,
)
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_at
from zarr_xgroup.conventions.units import (
    CALENDAR,
    CALENDARS,
    EPOCH,
    UNIT_OF_TIME,
    cf_unit_of_time,
    cf_units_in_one_text,
    cf_units_of_time,
    is_epoch,
    problems_of_time_units,
    unit_and_epoch,
    units_of_times,
)
from zarr_xgroup.conventions.uom import UnitOfMeasure, Uom, cf_units_of_measure
from zarr_xgroup.conventions.values import explicit_values, fits_64_bits, pair_of_numbers
from zarr_xgroup.errors import Rule, Severity, XGroupError, rules_in
from zarr_xgroup.findings import Finding, Place, Topic, coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import LATITUDES, LONGITUDES
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node, Part
from zarr_xgroup.metadata.references import WRAPPED
from zarr_xgroup.variables.functions import Regular, RegularBounds
from zarr_xgroup.variables.sources import Computed, Literal, Offset, Source, Stored, Unusable

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
OWN_ARRAY = Rule("cs/array-of-the-group", DOCUMENT, "values: external")

RULES = rules_in(vars())

ABBREVIATIONS = ("X", "Y", "Z", "T")
_TYPES = ("compound", "planar", "vertical", "temporal", "undefined")
_TYPE_BY_ABBREVIATION = {"X": "planar", "Y": "planar", "Z": "vertical", "T": "temporal"}
_DIRECTIONS = (
    *("north", "south", "east", "west", "up", "down", "future", "past"),
    *("northEast", "northWest", "southEast", "southWest"),
    *("northNorthEast", "southSouthEast", "northNorthWest", "southSouthWest"),
    *("eastNorthEast", "eastSouthEast", "westNorthWest", "westSouthWest"),
    *("geocentricX", "geocentricY", "geocentricZ"),
    *("columnPositive", "columnNegative", "rowPositive", "rowNegative"),
    *("displayRight", "displayLeft", "displayUp", "displayDown"),
    *("towards", "away", "awayFrom", "forward", "aft"),
    *("port", "starboard", "clockwise", "counterClockwise", "unspecified"),
)
_UNITS_OF_DEGREES = {"degree", "degrees", "deg", "°"} | {
    f"{word}{end}"
    for word in ("degree", "degrees")
    for end in ("_east", "_north", "_e", "_n", "east", "north", "e", "n")
}
_STANDARD_NAMES = {"X": "longitude", "Y": "latitude"}
_UNITS_ALONG = {"X": LONGITUDES, "Y": LATITUDES}
#: The dimension of the two sides of a cell, and the suffix of the names of boundaries.
_BOUNDS_NAME = "bounds"

# The JSON of the convention.

_OFFSETS = '"boundaries": {"regular": [-0.5, 0.5]} (offsets from each value)'
_EPOCH = '"epoch": "2028-02-01T00:00:00"'

_Identity = Annotated[Part | None, ProjObject()]
#: A name without effect, so a wrong value is a warning.
_Label = Annotated[str, Text(), Member(severity="warning")]


class _CsModel(Model, frozen=True, kw_only=True):
    """An object in ``cs``, with the rules of all of them."""

    form: ClassVar[Rule] = FORM
    required: ClassVar[Rule | None] = REQUIRED
    spelling: ClassVar[Rule | None] = SPELLING
    others: ClassVar[frozenset[str]] = frozenset({"name", "type", "description", *CRS_KEYS})


class _ValuesModel(_CsModel, frozen=True, kw_only=True):
    """An object that defines values by exactly one of the keys in `ways`; messages contain `example`."""

    ways: ClassVar[tuple[str, ...]]
    example: ClassVar[str]

    external: Annotated[Part | None, ReferenceTo()] = None
    regular: Annotated[
        tuple[float, float] | None,
        Parsed(pair_of_numbers),
        Member(example='"regular": [first, step]'),
    ] = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Report an object without exactly one of the keys in `ways`, and drop all of them.

        ``{"ref": {"external": ...}}`` is read as ``{"external": {"ref": ...}}``, and reported.
        """
        ways = [way for way in cls.ways if fragment.value.get(way) is not None]
        external = (fragment.get(WRAPPED) or fragment).get("external")
        if external is not None and "external" not in ways:
            text = _("must be inside {key!r}, and is read as if it were").format(key="external")
            place, remedy = fragment.place(WRAPPED), write("external", {WRAPPED: external.value})
            reader.report(SPELLING, place, text, remedy, severity="warning", value_kept=True)
            ways.append("external")
            reference = ReferenceTo().read(external, reader.of(Member("external")))
            if reference is not UNUSABLE:
                fields["external"] = reference
        misspelt = () if ways else reader.misspelt.values()
        if len(ways) == 1 or any(way in misspelt for way in cls.ways):
            return  # a misspelt key is reported already
        text = _("must have exactly one of {kinds}").format(kinds=", ".join(cls.ways))
        reader.report(cls.form, fragment, text, such_as(cls.example))
        for way in cls.ways:
            fields.pop(way, None)


class Values(_ValuesModel, frozen=True, kw_only=True):
    """Values of a coordinate: a first one and a step, a list, or a reference to an array."""

    form: ClassVar[Rule] = VALUES
    ways: ClassVar[tuple[str, ...]] = ("regular", "explicit", "external")
    example: ClassVar[str] = '"values": {"regular": [first, step]}'

    explicit: Annotated[Any, Parsed(explicit_values), Member(example='"explicit": [1.5, 2.5]')] = (
        None
    )

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Report a step of 0, which is not used."""
        super().finish_fields(fragment, fields, reader)
        first, step = fields.get("regular", (0, 1))
        if step == 0:
            text = _("has a step of 0: all values are the same")
            remedy = _("write the step, or for a single value {example}")
            remedy = remedy.format(example=f'"explicit": [{first}]')
            reader.report(INCREMENT, fragment.place("regular"), text, remedy)
            del fields["regular"]


class Boundaries(_ValuesModel, frozen=True, kw_only=True):
    """Boundaries of cells: two offsets from each value, or a reference to an array."""

    form: ClassVar[Rule] = BOUNDARIES
    ways: ClassVar[tuple[str, ...]] = ("regular", "external")
    example: ClassVar[str] = _OFFSETS

    regular: Annotated[
        tuple[float, float] | None, Parsed(pair_of_numbers), Member(example=_OFFSETS)
    ] = None
    name: Annotated[str, Text()] = ""
    attributes: Annotated[Mapping[str, Any], Object()] = {}

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn of equal offsets, with which cells have no width."""
        super().finish_fields(fragment, fields, reader)
        below, above = fields.get("regular", (0, 1))
        if below == above:
            reason = _("{value}: cells have no width").format(value=shown([below, above]))
            place, remedy = fragment.place("regular"), such_as(_OFFSETS)
            reader.report(BOUNDARIES, place, reason, remedy, severity="warning", value_kept=True)


class Parametric(_CsModel, frozen=True, kw_only=True):
    """A parametric vertical coordinate of CF: a formula, and the values of its terms."""

    formula: Annotated[
        str, Text(), Member(required=True, example='"formula": "atmosphere_sigma_coordinate"')
    ] = ""
    terms: Annotated[
        tuple[tuple[str, Values], ...],
        ByName(Nested(Values), least=1),
        Member(required=True, example='"terms": {"sigma": {"external": {"node": "sigma"}}}'),
    ] = ()


class Time(_CsModel, frozen=True, kw_only=True):
    """The unit, epoch and calendar of the numbers along a temporal axis; ``reference`` has unit and epoch in one."""

    unit: Annotated[
        str, Text(), Member(required=True, unless=("reference",), example='"unit": "days"')
    ] = ""
    epoch: Annotated[str, Text(), Member(required=True, unless=("reference",), example=_EPOCH)] = ""
    reference: Annotated[str, Text(), Member(example=f'"unit": "days", {_EPOCH}')] = ""
    calendar: Annotated[str, Text(CALENDARS, any_case=True, rule=CALENDAR, severity="error")] = ""

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Report an epoch that is not a date and time, and do not use it.

        Also report, to `check` only, a unit or an epoch that xarray cannot decode. Opening warns of the undecoded
        coordinate.
        """
        keys, epoch = {UNIT_OF_TIME: "unit", EPOCH: "epoch"}, fields.get("epoch")
        unit = cf_unit_of_time(fields.get("unit", ""))
        if "reference" in fields:
            keys = dict.fromkeys(keys, "reference")
            unit, epoch = unit_and_epoch(fields["reference"]) or (fields["reference"], None)
        if epoch is not None and not is_epoch(epoch):
            text = _(
                "must be an ISO 8601 date and time (such as {example}), got {value!r}; the times are "
                "not decoded"
            ).format(example="2028-02-01T00:00:00", value=fields.pop(keys[EPOCH]))
            reader.report(FORM, fragment.place(keys[EPOCH]), text, such_as(_EPOCH))
        for rule, text in problems_of_time_units(unit, epoch or "", fields.get("calendar", "")):
            # A wrong ``calendar`` has been reported when it was read.
            if keys.get(rule) in fields:
                remedy = _("write seconds, minutes, hours or days")
                if rule is EPOCH:
                    remedy = such_as(_EPOCH)
                reader.report(rule, fragment.place(keys[rule]), text, remedy, value_kept=True)

    @property
    def units(self) -> Mapping[str, str]:
        """The CF attributes ``units`` and ``calendar``; empty if a member that defines them is unusable."""
        units = cf_units_in_one_text(self.reference)
        if not units and self.unit and self.epoch:
            units = cf_units_of_time(self.unit, self.epoch)
        if not units or self.wrong_with("calendar") is not None:
            return {}
        return {"units": units} | ({"calendar": self.calendar} if self.calendar else {})


class AxisMembers(_CsModel, frozen=True, kw_only=True):
    """The common members of an axis and a coordinate set."""

    direction: Annotated[str, Text(_DIRECTIONS, any_case=True, rule=DIRECTION)] = ""
    unit: Annotated[str | Uom | None, UnitOfMeasure(or_text=True)] = None
    time: Annotated[
        Time | None,
        Nested(Time),
        Member(example='"time": {"unit": "days", "epoch": "2000-01-01", "calendar": "standard"}'),
    ] = None
    attributes: Annotated[Mapping[str, Any], Object()] = {}

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn if there are both ``unit`` and ``time``, which has its own unit."""
        if all(fragment.value.get(key) is not None for key in ("unit", "time")):
            text = _("is ignored, because there is {key!r}").format(key="time")
            place, remedy = fragment.place("unit"), _("leave one of {keys} out")
            remedy = remedy.format(keys="unit, time")
            reader.report(FORM, place, text, remedy, severity="warning", value_kept=True)


class CoordinateSet(AxisMembers, frozen=True, kw_only=True):
    """One set of coordinates along an axis."""

    name: Annotated[str, Text()] = ""
    values: Annotated[
        Values | None,
        Nested(Values),
        Member(required=True, unless=("parametric",), example=Values.example),
    ] = None
    boundaries: Annotated[
        Boundaries | None, Nested(Boundaries), Member(rule=BOUNDARIES, example=_OFFSETS)
    ] = None
    parametric: Annotated[Parametric | None, Nested(Parametric)] = None


class Axis(AxisMembers, frozen=True, kw_only=True):
    """An axis of a CRS."""

    name: _Label = ""
    abbreviation: Annotated[str, Text(ABBREVIATIONS, rule=ABBREVIATION)] = ""
    coordinates: Annotated[
        tuple[CoordinateSet | Part, ...],
        Items(Nested(CoordinateSet, or_reference=True)),
        Member(example='"coordinates": [{"values": {"regular": [0, 1]}}]'),
    ] = ()

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn of coordinate sets with the name of an earlier set of the axis."""
        super().finish_fields(fragment, fields, reader)
        known: set[str] = set()
        for item in fields.get("coordinates", ()):
            name = "" if isinstance(item, Part) else item.name
            if name in known:
                text = _("{value} is also the name of an earlier set of the axis")
                place, text = item.place(fragment.node, "name"), text.format(value=shown(name))
                remedy = _('write a different "name", or leave it out')
                reader.report(DISTINCT, place, text, remedy, severity="warning", value_kept=True)
            known |= {name} - {""}


class System(_CsModel, frozen=True, kw_only=True):
    """A coordinate reference system."""

    type: Annotated[str, Text(_TYPES, rule=TYPE)] = ""
    name: _Label = ""
    description: _Label = ""
    axes: Annotated[
        tuple[tuple[str, Axis | Part], ...],
        ByName(Nested(Axis, or_reference=True), or_list=True, least=1),
        Member(
            required=True, example='"axes": {"lat": {"abbreviation": "Y", "coordinates": [...]}}'
        ),
    ] = ()
    id: _Identity = None
    geolocation: Annotated[
        Geolocation | Part | None,
        Nested(Geolocation, or_reference=True),
        Member(rule=Geolocation.form, example=EXAMPLE),
    ] = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn of equal abbreviations of axes, and of a missing type.

        Members of a proj object in a CRS without ``id`` are read as if they were in ``id``.
        """
        axes = fields.get("axes", ())
        _report_repeated_abbreviations(axes, fragment.node, reader)
        # In older documents, which have a list of axes, a CRS has no type.
        is_newer = isinstance(fragment.value.get("axes"), OBJECT)
        has_no_type = "type" not in fragment.value and is_newer
        if has_no_type and "type" not in reader.misspelt.values():
            letters = [axis.abbreviation for _name, axis in axes if isinstance(axis, Axis)]
            kinds = {_TYPE_BY_ABBREVIATION.get(letter, "undefined") for letter in letters or [""]}
            remedy = write("type", kinds.pop() if len(kinds) == 1 else "compound")
            place, text = fragment.place("type"), _("is missing")
            reader.report(TYPE, place, text, remedy, severity="warning", value_kept=True)
        has_id = "id" in fields and any(map(fields["id"].value.get, CRS_KEYS))
        if not has_id and any(fragment.value.get(key) is not None for key in CRS_KEYS):
            fields["id"] = ProjObject().read(fragment, reader.of(fields_of(cls)["id"][1]))


def _report_repeated_abbreviations(
    axes: Iterable[tuple[str, Axis | Part]],
    node: Node,
    reader: Reader,
    reported: Collection[Place] = (),
) -> None:
    """Warn of axes that have the abbreviation of an earlier axis, except at places that are reported already.

    Axes of the same name in two CRSs are the same axis.
    """
    known: dict[str, str] = {}
    for name, axis in axes:
        if isinstance(axis, Part) or axis.abbreviation not in ABBREVIATIONS:
            continue
        other = known.setdefault(axis.abbreviation, name)
        place = None if other == name else axis.place(node, "abbreviation")
        if place is not None and Place("", place.pointer) not in reported:
            text = _("{value} is also the abbreviation of axis {other!r}")
            text = text.format(value=shown(axis.abbreviation), other=other)
            unused = ", ".join(letter for letter in ABBREVIATIONS if letter not in known)
            remedy = _('write a different "abbreviation" ({others}), or leave it out')
            remedy = remedy.format(others=unused)
            reader.report(UNIQUE, place, text, remedy, severity="warning", value_kept=True)


class Cs(_CsModel, frozen=True, kw_only=True):
    """The attribute ``cs``: coordinate reference systems with their axes."""

    crs: Annotated[
        tuple[System | Part, ...],
        Items(Nested(System, or_reference=True), least=1),
        Member(required=True, example='"crs": [{"axes": {...}}]'),
    ] = ()
    name: _Label = ""
    id: _Identity = None
    attributes: Annotated[Mapping[str, Any], Object()] = {}

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn of equal abbreviations of axes in different CRSs."""
        systems = [item for item in fields.get("crs", ()) if isinstance(item, System)]
        reported = {finding.place for system in systems for finding in system.wrong}
        axes = chain.from_iterable(system.axes for system in systems)
        _report_repeated_abbreviations(axes, fragment.node, reader, reported)


#: The attribute of an array.
ATTRIBUTE = Attribute(
    "cs", Nested(Cs), FORM, '"cs": {"crs": [{"axes": {...}}]}', on="array", marks=("crs",)
)
#: The attribute of a group with CRSs that arrays refer to.
SHARED = Attribute(
    "crs",
    ByName(Nested(System, or_reference=True), least=1),
    FORM,
    '"crs": {"WGS84": {"axes": {...}}}',
    severity="warning",
    on="group",
    is_needed=False,
)


class CsHandler(ConventionHandler):
    """Attaches the coordinates that an array's ``cs`` declares."""

    tier = "principal"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"
    identifiers = ("R-CF/zarr_convention_cs", "R-CF/zarr_conventions_cs")
    described = (ATTRIBUTE, SHARED)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the array declares the convention, or has a ``cs`` that its group declares."""
        has_cs = array.attribute(ATTRIBUTE.key) is not None
        return cls in array.declared or (has_cs and array.follows(cls))

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield ``cs``, and a group's ``crs``, to which arrays refer."""
        yield from super().owned(attributes)
        if isinstance(attributes.get(SHARED.key), Mapping):
            yield SHARED.key

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of all axes and geolocation objects of all coordinate reference systems."""
        if array.attribute(ATTRIBUTE.key) is None:
            place = Fragment(array.node, ("attributes", ATTRIBUTE.key), None)
            missing = _("the coordinates of its dimensions")
            array.report(Topic.PROBLEM, place, _("is declared, but missing"), cost=missing)
        cs: Cs | None = array.read(ATTRIBUTE)
        if cs is None:
            return array.interpretation()
        array.report_wrong(array.node, cs)
        coordinates: list[Coordinate] = []
        systems: list[System] = []
        for item in cs.crs:
            resolved = array.try_reporting(dereferenced, array, array.node, item, System)
            if resolved is None:
                continue
            node, system = resolved
            systems.append(system)
            array.report_wrong(node, system)
            identity = cs.id or system.id
            proj_and_name = identity and identity.value, system.name
            for name, part in system.axes:
                cost = partial(coordinate_named, name)
                axis = array.try_reporting(dereferenced, array, node, part, Axis, cost=cost)
                if axis is not None:
                    coordinates += _coordinates(AxisOfArray(array, name, *axis, proj_and_name))
            if system.geolocation is not None:
                crs = identity and identity.at(node if cs.id is None else array.node)
                coordinates += geolocation_coordinates(array, node, system.geolocation, crs)
        if len(systems) == len(cs.crs):
            _report_dims_without_axis(array, cs, systems)
        return array.interpretation(*coordinates)

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        """Return the CRS of the first usable ``id`` of an array's ``cs`` or its CRSs, or None."""
        cs: Cs | None = array.try_without_findings(array.read, ATTRIBUTE)
        if cs is None:
            return None
        places = [] if cs.id is None else [cs.id.at(array.node)]
        for item in cs.crs:
            resolved = array.try_without_findings(dereferenced, array, array.node, item, System)
            if resolved is not None and resolved[1].id is not None:
                places.append(resolved[1].id.at(resolved[0]))
        return next(filter(None, (crs_at(array, place) for place in places)), None)

    @classmethod
    def check(cls, subject: NodeView) -> Iterable[Finding]:
        """Return findings about ``crs`` of a group, even if the group does not declare the convention.

        A ``crs`` without axes is ignored: other conventions have an attribute of that name.
        """
        shared = None if subject.is_array else subject.attribute(SHARED.key)
        systems = shared.value.values() if shared and isinstance(shared.value, OBJECT) else ()
        have_axes = (isinstance(system, OBJECT) and "axes" in system for system in systems)
        if shared is None or not any(have_axes):
            return ()
        return (finding.at(subject.node) for finding in SHARED.all_wrong(shared))


def _report_dims_without_axis(array: ArrayView, cs: Cs, systems: Iterable[System]) -> None:
    """Report dimensions without an axis, to `check` only; not if the axes of a CRS cannot be read."""
    if cs.wrong_with("crs") or any(system.wrong_with("axes") for system in systems):
        return
    axes = {name for system in systems for name, _axis in system.axes}
    for name in () if axes >= set(array.dims) else declared_dimensions(array.document):
        if name is None or name in axes:
            continue
        is_stored = array.sibling(name) is not None
        values = '{"regular": [first, step]}'
        if is_stored:
            values = f'{{"external": {{"node": "{name}"}}}}'
        text = _("there is no axis for the dimension {name!r}").format(name=name)
        example = f'"{name}": {{"coordinates": [{{"values": {values}}}]}}'
        remedy = _("add to the axes of a CRS {example}").format(example=example)
        severity: Severity = "warning" if is_stored else "error"
        array.report(EVERY, cs.place(array.node, "crs"), text, remedy, severity=severity)


# The coordinates of an axis.


class AxisOfArray(msgspec.Struct, frozen=True):
    """An axis of a CRS, for one array."""

    array: ArrayView
    name: str  # the dimension of the array along the axis, or the name of a scalar coordinate
    node: Node  # the node whose document contains the axis
    axis: Axis
    crs: tuple[Any, str]  # the proj object of its CRS, or None, and the name of the CRS

    @property
    def is_dimension(self) -> bool:
        """Whether the array has a dimension along the axis; otherwise its coordinates are scalars."""
        return self.name in self.array.dims

    @property
    def length(self) -> int:
        """The number of values along the axis."""
        return self.array.sizes.get(self.name, 1)

    @property
    def sides(self) -> str:
        """The dimension of the two sides of a cell; never the name of the axis."""
        return _BOUNDS_NAME if self.name != _BOUNDS_NAME else f"{_BOUNDS_NAME}_1"

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions of its coordinates."""
        return (self.name,) if self.is_dimension else ()

    def regular_source(self, first: float, step: float) -> Computed:
        """Return the source of the values ``first + position * step`` along the axis."""
        dtype = "<f8" if isinstance(first, float) or isinstance(step, float) else "<i8"
        is_scalar = not self.is_dimension
        return Computed(Regular(first, step), (self.length,), dtype, (self.name,), first=is_scalar)


def _coordinates(axis: AxisOfArray) -> Iterator[Coordinate]:
    """Yield the coordinate of each coordinate set of an axis; for a dimension without sets, its positions."""
    array, sets = axis.array, axis.axis.coordinates
    finding = axis.axis.wrong_with("coordinates")
    if finding is not None:  # positions do not replace sets that cannot be read
        array.report_wrong(axis.node, [finding], coordinate_named(axis.name))
        return
    if sets or axis.is_dimension:
        _report_unusable_members(axis, axis.axis, axis.node)
    if not sets and axis.is_dimension:
        yield Coordinate(axis.name, axis.regular_source(0, 1), _attributes(axis, axis.axis))
    for number, item in enumerate(sets):
        yield _coordinate(axis, number, item)


def _coordinate_name(axis: AxisOfArray, number: int, item: CoordinateSet | Part) -> str:
    """Return the name of a set's coordinate: the axis name for the first set, otherwise its own or a numbered name."""
    if number == 0:
        return axis.name  # so that xarray makes an index
    own = "" if isinstance(item, Part) else item.name
    return own or f"{axis.name}_{number}"


def _report_unusable_members(axis: AxisOfArray, item: AxisMembers, node: Node) -> None:
    """Report the unusable members of an axis or a coordinate set.

    ``values`` and ``coordinates`` are reported with the coordinate that is missing because of them.
    """
    nested = (part.all_wrong() for part in (item.unit, item.time) if isinstance(part, Model))
    for finding in (*item.wrong, *chain.from_iterable(nested)):
        key, *related = (place.keys[len(item.keys)] for place in (finding.place, *finding.related))
        if not {key, *related} & {"values", "coordinates"}:
            cost = _("{key!r} of axis {axis!r}").format(key=key, axis=axis.name)
            axis.array.report_wrong(node, [finding], cost)


def _attributes(axis: AxisOfArray, item: AxisMembers) -> dict[str, Any]:
    """Return the attributes of a coordinate: units, ``attributes`` of the axis, and ``attributes`` of the set.

    ``axis``, ``positive`` and ``standard_name`` are derived from abbreviation and direction if they are not declared.
    """
    abbreviation = axis.axis.abbreviation.upper()
    direction = (item.direction or axis.axis.direction).lower()
    along = abbreviation or ALONG.get(direction, "")
    # CF longitudes are positive to the east, and latitudes to the north.
    is_reversed = direction in ("west", "south")
    if item.time is not None:
        units = item.time.units
    else:
        units_of_measure = cf_units_of_measure(item.unit)
        units = {key: cf_length(unit) for key, unit in units_of_measure.items()}
    declared = {**axis.axis.attributes, **item.attributes}
    unit, name = str({**units, **declared}.get("units", "")), None
    if unit.lower() in _UNITS_OF_DEGREES:
        # For units such as degrees_east, planning adds the standard name, whatever the CRS is.
        if is_reversed:
            units = {"units": "degree"}
        elif (
            along in _STANDARD_NAMES
            and unit not in _UNITS_ALONG[along]
            and is_geographic(*axis.crs)
        ):
            name = _STANDARD_NAMES[along]
            units = {**units, **cf_units_of_measure(item.unit, name)}
    derived = {}
    if abbreviation in ABBREVIATIONS:
        derived["axis"] = abbreviation
    if abbreviation == "Z" and direction in ("up", "down"):
        derived["positive"] = direction
    if name is not None:
        derived["standard_name"] = name
    return {**derived, **units, **declared}


def _coordinate(axis: AxisOfArray, number: int, item: CoordinateSet | Part) -> Coordinate:
    """Return the coordinate of a coordinate set. Its source, bounds or formula terms may be unusable."""
    array, name = axis.array, _coordinate_name(axis, number, item)
    along = axis.name if number else ""
    try:
        node, coordinate_set = dereferenced(array, axis.node, item, CoordinateSet)
    except XGroupError as error:
        source = array.unusable_source(error, axis.dims, coordinate_named(name))
        return Coordinate(name, source, axis=along)
    _report_unusable_members(axis, coordinate_set, node)
    attributes = _attributes(axis, coordinate_set)
    name = _coordinate_name(axis, number, coordinate_set)
    values = _source_of_set(axis, coordinate_set, node, name)
    terms: Mapping[str, Coordinate] = {}
    parametric, boundaries = coordinate_set.parametric, coordinate_set.boundaries
    if parametric is not None:
        terms = _formula_terms(axis, parametric, node)
        if parametric.formula:
            attributes.setdefault("standard_name", parametric.formula)
    coordinate = Coordinate(name, values, attributes, formula_terms=terms, axis=along)
    if boundaries is None:
        return coordinate
    return replace(coordinate, bounds=_bounds(axis, coordinate, boundaries, node))


def _source_of_set(axis: AxisOfArray, item: CoordinateSet, node: Node, name: str) -> Source:
    """Return the source of the values of a coordinate set, which may be unusable."""
    try:
        if finding := item.wrong_with("values"):
            raise finding.at(node).as_error()
        if item.values is not None:
            return _source(axis, item.values, node)
        if axis.is_dimension:  # a parametric set may have no values
            return axis.regular_source(0, 1)
        raise item.place(node, "values").error(_("is missing"))
    except XGroupError as error:
        return axis.array.unusable_source(error, axis.dims, coordinate_named(name))


def _source(axis: AxisOfArray, values: Values, node: Node) -> Source:
    """Return the source of the values of a coordinate or a formula term, or raise XGroupError."""
    array, length = axis.array, axis.length
    if values.external is not None:
        return _external_source(axis, values.external.at(node))
    if values.regular is not None:
        first, step = values.regular
        # `regular` is meant for dimensions. It remains if an array is reduced along the axis and written again.
        if not axis.is_dimension:
            message = _(
                "has regular values, but is not a dimension of the array ({dims}); a scalar coordinate "
                "needs its value in 'explicit'"
            )
            raise axis.axis.place(axis.node).error(message.format(dims=", ".join(array.dims)))
        if not fits_64_bits(first + step * (length - 1)):
            raise values.place(node, "regular").error(_("has values beyond 64 bits"))
        return axis.regular_source(first, step)
    explicit: np.ndarray[Any, Any] | None = values.explicit
    if explicit is None:
        unusable = next(finding for finding in values.wrong if finding.topic is not None)
        raise unusable.at(node).as_error()
    if (number := len(explicit)) != length:
        place = values.place(node, "explicit")
        text = _("has {number} values, but the axis needs {length}")
        text = text.format(number=number, length=length)
        remedy = _("write {size} values, or refer to an array of them").format(size=length)
        raise place.error(text, LENGTH, remedy)
    if axis.is_dimension:
        return Literal(explicit, (axis.name,))
    return Literal(explicit[:1].reshape(()), ())


def _external_source(axis: AxisOfArray, reference: Fragment) -> Stored:
    """Return the array that a reference points to as a source, or raise XGroupError.

    A scalar coordinate uses the first value of a 1-D array.
    """
    array = axis.array

    def shape_misfit(node: Node) -> str | None:
        """Return why an array does not have the shape of the axis, or None if it has."""
        shape = list(shape_of(array, node))
        if shape == [axis.length] or (not axis.is_dimension and shape == []):
            return None
        text = _("its shape is {shape}, but axis {axis!r} needs {needed}")
        return text.format(shape=shape, axis=axis.name, needed=[axis.length])

    node = array.resolver.array(reference, shape_misfit)
    is_scalar = shape_of(array, node) == ()
    first_only = not axis.is_dimension and not is_scalar
    source = Stored(node, () if is_scalar else (axis.name,), first=first_only)
    return array.stored(source, reference)


# Boundaries.


def _bounds(
    axis: AxisOfArray, coordinate: Coordinate, boundaries: Boundaries, node: Node
) -> Coordinate:
    """Return the boundaries of a coordinate, whose source may be unusable."""
    array, wrong = axis.array, list[Finding]()
    cost = _("the boundaries of {name!r}").format(name=coordinate.name)
    for finding in boundaries.wrong:
        key = "".join(finding.place.keys[len(boundaries.keys) :][:1])
        if key in ("name", "attributes"):
            part = _("{key!r} of {part}").format(key=key, part=cost)
            array.report_wrong(node, [finding], part)
        elif finding.topic is not None:
            wrong.append(finding.at(node))
    source: Source
    offsets, external = boundaries.regular, boundaries.external
    try:
        if isinstance(coordinate.source, Unusable):
            source, wrong = coordinate.source, []
        elif offsets is not None:
            source = _shifted(axis, coordinate.source, offsets, boundaries.place(node, "regular"))
        elif external is not None:
            source = _stored_bounds(axis, external.at(node))
        else:
            source, wrong = array.unusable_source(wrong[0], (), cost), wrong[1:]
    except XGroupError as error:
        source = array.unusable_source(error, (), cost)
    array.report_wrong(node, wrong, cost)
    # Boundaries of times are decoded with the units of the coordinate, which may be on its stored array.
    values = coordinate.source
    document = array.document_of(values.node) if isinstance(values, Stored) else None
    own_attributes = {} if document is None else document.attributes
    units = units_of_times(coordinate.attributes, own_attributes)
    name = boundaries.name or f"{coordinate.name}_{_BOUNDS_NAME}"
    return Coordinate(name, source, {**units, **boundaries.attributes})


def _shifted(
    axis: AxisOfArray, source: Source, offsets: tuple[float, float], place: Fragment
) -> Computed | Offset:
    """Return the source of boundaries at two offsets from each value, or raise XGroupError.

    Integers plus integer offsets stay exact integers, so boundaries beyond 64 bits are an error.
    """
    ends: list[float] = []
    bounds: Computed | Offset
    if isinstance(source, Computed):
        function: Regular = source.function
        ends = [function(0), function(axis.length - 1)]
        dtype = np.result_type(np.dtype(source.dtype), *map(type, offsets)).str
        computed, dims = RegularBounds(function, *offsets), (axis.name, axis.sides)
        bounds = Computed(computed, (axis.length, 2), dtype, dims, first=source.first)
    elif (
        isinstance(source, Stored | Literal)
        and (kind := axis.array.factory.decoded_dtype(source).kind) in "iuf"
    ):
        if isinstance(source, Literal) and kind in "iu" and source.values.size:
            ends = [source.values.min().item(), source.values.max().item()]
        bounds = Offset(source, *offsets, axis.sides)
    else:
        raise place.error(_("needs values that are numbers"))
    if not all(fits_64_bits(end + offset) for end in ends for offset in offsets):
        raise place.error(_("gives boundaries beyond 64 bits"))
    return bounds


def _stored_bounds(axis: AxisOfArray, reference: Fragment) -> Stored:
    """Return the array of boundaries that a reference points to as a source, or raise XGroupError.

    Its shape is ``(2, n)`` by the convention, or ``(n, 2)``; without a dimension along the axis also ``(2,)``.
    """
    array, length = axis.array, axis.length

    def shape_misfit(node: Node) -> str | None:
        """Return why an array does not have the shape of boundaries, or None if it has."""
        shape = list(shape_of(array, node))
        fitting = [[length, 2], [2, length]]
        if shape in fitting or (not axis.is_dimension and shape == [2]):
            return None
        needed = " / ".join(dict.fromkeys(map(str, fitting)))
        text = _("its shape is {shape}, but the boundaries of axis {axis!r} need {needed}")
        return text.format(shape=shape, axis=axis.name, needed=needed)

    node = array.resolver.array(reference, shape_misfit)
    shape = shape_of(array, node)
    if not axis.is_dimension and shape == (2,):
        return array.stored(Stored(node, (axis.sides,)), reference)
    # If the shape is (2, 2), the names of the dimensions decide; without names, sides are first, as in the convention.
    sides_first = shape[0] == 2 if length != 2 else own_dims_of(array, node)[0] != axis.name
    dims = (axis.sides, axis.name) if sides_first else (axis.name, axis.sides)
    source = Stored(node, dims, first=not axis.is_dimension, transposed=sides_first)
    return array.stored(source, reference)


# Parametric vertical coordinates.


def _formula_terms(axis: AxisOfArray, parametric: Parametric, node: Node) -> dict[str, Coordinate]:
    """Return the terms of the formula of a parametric coordinate, by their names."""
    array = axis.array

    def missing_part(*terms: str) -> str:
        if not terms:
            return _("the formula terms of {name!r}").format(name=axis.name)
        return _("the term {term!r} of {name!r}").format(term=terms[0], name=axis.name)

    for finding in parametric.wrong:
        keys = finding.place.keys[len(parametric.keys) + 1 :]
        array.report_wrong(node, [finding], missing_part(*keys))
    return {
        term: _formula_term(axis, term, values, node, missing_part(term))
        for term, values in parametric.terms
    }


def _formula_term(
    axis: AxisOfArray, term: str, values: Values, node: Node, cost: str
) -> Coordinate:
    """Return a term of a formula as a coordinate, whose source may be unusable."""
    # One explicit value is a scalar. On an axis of length 1 it is an array of length 1, unless the group's own array of
    # that name is a scalar.
    name = f"{axis.name}_{term}"
    is_scalar = axis.length != 1 or axis.array.siblings.get(name) == {}
    source: Source
    try:
        if values.external is not None:
            source = _source_of_term(axis, values.external.at(node))
            name = source.node.name
        elif values.explicit is not None and len(values.explicit) == 1 and is_scalar:
            source = Literal(values.explicit.reshape(()), ())
        else:
            source = _source(axis, values, node)
    except XGroupError as error:
        source = axis.array.unusable_source(error, None, cost)
    return Coordinate(name, source)


def _source_of_term(axis: AxisOfArray, reference: Fragment) -> Stored:
    """Return the array that a term refers to as a source, or raise XGroupError."""
    array = axis.array
    node = array.resolver.array(reference)
    shape, dims = shape_of(array, node), fitting_dims(array, node)
    if axis.is_dimension and shape == (axis.length,) and array.sizes.get(dims[0]) != axis.length:
        dims = (axis.name,)  # along the axis, even if its own dimension has a different name
    # One value along a dimension that the referring array does not have is a scalar.
    first_only = shape == (1,) and array.sizes.get(dims[0]) != 1
    return array.stored(Stored(node, dims, first=first_only), reference)
