"""Coordinates that are known at tie points, and interpolated between them (CF 1.9 and later, section 8.3).

An array says by ``coordinate_interpolation`` which variables have the tie points, and which one says how to
interpolate. What is interpolated is computed when it is read, in the chunks of the array.

cfdm 1.13.3 is what values were compared with. It differs from CF's text in two places, where the text is followed:
it fails on ``quadratic_latitude_longitude`` in degrees (TypeError: it takes the share 0.5 for a dimension),
and takes a flag with both ``flag_masks`` and ``flag_values`` as set if any bit of both is (3.5 compares).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from zarr_xgroup.conventions.array import ArrayView, chunks_along, own_dims_of, shape_of
from zarr_xgroup.conventions.cf_paths import array_named
from zarr_xgroup.conventions.descriptions import Attribute, Parsed, Text, such_as
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.timeunits import CF
from zarr_xgroup.errors import Rule, XGroupMetadataError, rules_in
from zarr_xgroup.findings import coordinate_named, referred_to_by
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import LATITUDES, LONGITUDES
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.sources import Computed, Stored
from zarr_xgroup.variables.tie_points import (
    FLAGS,
    PERIOD,
    BetweenPlaces,
    BetweenTiePoints,
    Parameter,
)

COORDINATES = Rule("cf/coordinate-interpolation", CF, "8.3.2 Coordinate Interpolation Attribute")
VARIABLE = Rule("cf/interpolation-variable", CF, "8.3.3 Interpolation Variable")
MAPPING = Rule("cf/tie-point-mapping", CF, "8.3.5 Tie Point Mapping Attribute")
PARAMETERS = Rule("cf/interpolation-parameters", CF, "8.3.8 Interpolation Parameters")

RULES = rules_in(vars())


#: The methods of CF's appendix J: along how many dimensions each interpolates, and the parameters that it may
#: have. Those with flags of subareas interpolate latitudes and longitudes together.
_METHODS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "linear": (1, ()),
    "bi_linear": (2, ()),
    "quadratic": (1, ("w",)),
    "quadratic_latitude_longitude": (1, ("ce", "ca", FLAGS)),
    "bi_quadratic_latitude_longitude": (2, ("ce1", "ca1", "ce2", "ca2", "ce3", "ca3", FLAGS)),
}
#: The flag of subareas that are interpolated in space.
_IN_SPACE = "location_use_3d_cartesian"

#: What of the attributes of tie points holds for what is interpolated.
_KEPT = ("units", "standard_name", "long_name")
#: How the name of what is interpolated ends where all others are taken.
_INTERPOLATED = "_interpolated"
#: By which units, or standard name, an array has latitudes or longitudes.
_PLACES = {"latitude": LATITUDES, "longitude": LONGITUDES}

#: The words of an attribute by what is before a colon: ``x: x_indices tp_x``.
_Roles = tuple[tuple[str, tuple[str, ...]], ...]


def _roles(form: str, counts: tuple[int, ...], value: Fragment) -> _Roles:
    """Return the words of an attribute, so many for each role, or raise XGroupMetadataError."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for word in value.as_text().replace(":", ": ").split():
        if word.endswith(":"):
            found.append((word[:-1], ()))
        else:
            role, words = found.pop() if found else ("", ())
            found.append((role, (*words, word)))
    if not found or any(not role or len(words) not in counts for role, words in found):
        raise value.error(_("must have the form {form}").format(form=form))
    return tuple(found)


def _interpolated(value: Fragment) -> _Roles:
    """Return the interpolation variables, each with the names of tie points, or raise XGroupMetadataError."""
    form = "'tie_points: ... interpolation_variable ...'"
    found, names = [], []
    for name, words in _roles(form, (0, 1), value):
        names.append(name)
        if words:
            found.append((words[0], tuple(names)))
            names = []
    if names:
        raise value.error(_("must have the form {form}").format(form=form))
    return tuple(found)


def _method(value: Fragment) -> tuple[int, tuple[str, ...]]:
    """Return what is known of a method, or raise XGroupMetadataError."""
    if value.as_text() not in _METHODS:
        text = _("is no interpolation that is known here ({known})")
        raise value.error(text.format(known=", ".join(_METHODS)))
    return _METHODS[value.value]


_TEXT = {"type": "string"}
INTERPOLATION = Attribute(
    "coordinate_interpolation",
    Parsed(_interpolated, _TEXT),
    COORDINATES,
    '"coordinate_interpolation": "lat: lon: interpolation"',
    is_needed=False,
)
_NAME = Attribute(
    "interpolation_name",
    Parsed(_method, _TEXT | {"enum": list(_METHODS)}),
    VARIABLE,
    '"interpolation_name": "bi_linear"',
    is_needed=False,
)
_PRECISION = Attribute(
    "computational_precision",
    Text(("32", "64"), rule=VARIABLE),
    VARIABLE,
    '"computational_precision": "64"',
    severity="warning",
    is_needed=False,
)
_MAPPING = Attribute(
    "tie_point_mapping",
    Parsed(
        partial(
            _roles,
            "'dimension: index_variable tie_point_dimension [subarea_dimension] ...'",
            (2, 3),
        ),
        _TEXT,
    ),
    MAPPING,
    '"tie_point_mapping": "x: x_indices tp_x"',
    is_needed=False,
)
_PARAMETERS = Attribute(
    "interpolation_parameters",
    Parsed(partial(_roles, "'term: variable ...'", (1,)), _TEXT),
    PARAMETERS,
    '"interpolation_parameters": "w: coefficients"',
    is_needed=False,
)

#: Attributes of data, and of interpolation variables.
DESCRIBED = (INTERPOLATION, _NAME, _PRECISION, _MAPPING, _PARAMETERS)


def tie_point_coordinates(array: ArrayView) -> Iterator[Coordinate]:
    """Yield the coordinates of an array that are interpolated between tie points."""
    written = array.attribute(INTERPOLATION.key)
    if written is None:
        return
    for container, names in array.read(INTERPOLATION, referred_to_by(INTERPOLATION.key)) or ():
        for name in names:
            if _is_there(array, name.rpartition("/")[2]):
                continue  # what was interpolated before stands
            lost = partial(coordinate_named, name)
            found = array.attempt(_coordinate, array, written, name, names, container, lost=lost)
            if found is not None:
                yield found


def _coordinate(
    array: ArrayView, written: Fragment, name: str, names: tuple[str, ...], container: str
) -> Coordinate | None:
    """Return the coordinate that is interpolated of tie points, or raise XGroupError.

    None where the group has it: whoever writes what was interpolated, or a part of it, may leave tie points.
    """
    node, how = (_named(array, written, it, COORDINATES) for it in (name, container))
    if _has_interpolated(array, node):
        return None
    return _TiePoints(array, written, node, how, names).coordinate()


def _named(array: ArrayView, place: Fragment, name: str, rule: Rule) -> Node:
    """Return the array that is called so, or raise XGroupMetadataError."""
    node = array_named(array, Fragment(place.node, place.keys, name))
    if node is None:
        text, remedy = _("names {name!r}, which is no array"), _("name an array that is there")
        raise place.error(text.format(name=name), rule, remedy)
    array.referred.add(node)
    return node


def _is_there(array: ArrayView, name: str) -> bool:
    """Tell whether the group has an array of a name along dimensions of the array, whole."""
    document = array.sibling(name)
    dims = () if document is None else tuple(array.siblings[name])
    shape = None if document is None else tuple(document["shape"])
    return bool(dims) and tuple(array.sizes.get(dim) for dim in dims) == shape


def _has_interpolated(array: ArrayView, node: Node) -> bool:
    """Tell whether the group has what is interpolated of tie points, by the names that it may have."""
    known = (_standard_name(array, node), f"{node.name}{_INTERPOLATED}")
    return any(name and _is_there(array, name) for name in known)


@dataclass(frozen=True, eq=False)
class _TiePoints:
    """The tie points of one coordinate, and the interpolation variable.

    Attributes
    ----------
    array : ArrayView
        The array that has the coordinate.
    written : Fragment
        Its attribute ``coordinate_interpolation``.
    node, how : Node
        The tie points; the interpolation variable.
    names : tuple of str
        The names of all tie points that are interpolated by it, as they are written.
    """

    array: ArrayView
    written: Fragment
    node: Node
    how: Node
    names: tuple[str, ...]

    def coordinate(self) -> Coordinate:
        """Return what is interpolated, or raise XGroupError."""
        array, (count, terms), axes = self.array, self._needed(_NAME), self._axes()
        points = tuple(it for it in axes.values() if it is not None)
        if len(points) != count:
            text = _("interpolates along {count} dimensions, not {number}")
            named = text.format(count=count, number=len(points))
            raise self._error(_NAME, named, such_as(_MAPPING.example))
        indexed = tuple(None if it is None else points.index(it) for it in axes.values())
        known, parameters = self._parameters(terms)
        values: tuple[Stored, ...] = (self._values(self.node),)
        period = PERIOD if _is_of("longitude", array, self.node) else None
        function: Any = BetweenTiePoints(indexed, period, known)
        dtype = self._precision(values[0])
        if FLAGS in terms:
            is_longitude, values = self._places()
            function = BetweenPlaces(indexed, is_longitude, *self._flag(), known)
        dims, shape = tuple(axes), tuple(array.sizes[dim] for dim in axes)
        chunks = chunks_along(array, dims)
        arrays = (*values, *points, *parameters)
        source = Computed(function, shape, dtype, dims, chunks=chunks, arrays=arrays)
        return Coordinate(_name(array, self.node), source, _attributes(array, self.node))

    def _needed(self, attribute: Attribute) -> Any:
        """Return what an attribute of the interpolation variable means."""
        written = self.array.attribute(attribute.key, self.how)
        if written is not None:
            return attribute.value(written)
        text = _("is missing")
        if attribute is _NAME and self.array.attribute("interpolation_description", self.how):
            text = _("is missing: what 'interpolation_description' says is not known here")
        raise self._error(attribute, text, such_as(attribute.example))

    def _error(self, attribute: Attribute, text: str, remedy: str) -> XGroupMetadataError:
        """Return the error of an attribute of the interpolation variable."""
        return self._place(attribute).error(text, attribute.form, remedy)

    def _place(self, attribute: Attribute) -> Fragment:
        return Fragment(self.how, ("attributes", attribute.key), None)

    @cached_property
    def _mapped(self) -> Mapping[str, tuple[str, str, str | None]]:
        """Of dimensions of tie points the array's dimension, the array of positions, that of subareas."""
        found = {}
        for dim, (points, tie_points, *subareas) in self._needed(_MAPPING):
            found[tie_points] = self.array.names.get(dim, dim), points, *(subareas or [None])
        return found

    def _axes(self) -> dict[str, Stored | None]:
        """Return the array's dimensions along the tie points, and the positions of these; None of all values."""
        array, node = self.array, self.node
        found: dict[str, Stored | None] = {}
        for dim, size in zip(own_dims_of(array, node), shape_of(array, node), strict=True):
            here, points, _subareas = self._mapped.get(dim, (array.names.get(dim, dim), None, None))
            is_there = here in array.sizes and here not in found
            if not is_there or not (points or array.sizes[here] == size):
                text = _("has no dimension of the array for {dim!r} of the tie points")
                raise self._error(_MAPPING, text.format(dim=dim), such_as(_MAPPING.example))
            found[here] = self._points(points, size) if points else None
        return found

    def _points(self, name: str, size: int) -> Stored:
        """Return the array of the positions of so many tie points along a dimension."""
        place = self._place(_MAPPING)
        node = _named(self.array, place, name, MAPPING)
        if shape_of(self.array, node) != (size,):
            text = _("needs {size} positions of tie points, {node} has the shape {shape}")
            shape = list(shape_of(self.array, node))
            remedy = _("give each tie point along the dimension its position")
            raise place.error(text.format(size=size, node=node, shape=shape), MAPPING, remedy)
        return positions(self.array, node, ("tie_point",), place, MAPPING)

    def _values(self, node: Node) -> Stored:
        source = Stored(node, own_dims_of(self.array, node))
        return _numbers(self.array, source, self.written, COORDINATES)

    def _precision(self, values: Stored) -> str:
        """Return of which type the values are."""
        kind = self.array.maker.decoded_dtype(values)
        precision = self.array.attribute(_PRECISION.key, self.how)
        is_double = kind.itemsize > 4 or (precision is not None and str(precision.value) == "64")
        return "float64" if is_double else "float32"

    def _places(self) -> tuple[bool, tuple[Stored, Stored]]:
        """Return whether these tie points are longitudes, and the latitudes with the longitudes."""
        nodes = [_named(self.array, self.written, name, COORDINATES) for name in self.names]
        found = {kind: [it for it in nodes if _is_of(kind, self.array, it)] for kind in _PLACES}
        latitudes, longitudes = found["latitude"], found["longitude"]
        is_pair = len(latitudes) == len(longitudes) == 1 and self.node in (*latitudes, *longitudes)
        if (
            not is_pair
            or len({own_dims_of(self.array, it) for it in (*latitudes, *longitudes)}) > 1
        ):
            text = _("needs one array of latitudes and one of longitudes along the same dimensions")
            raise self.written.error(text, COORDINATES, such_as(INTERPOLATION.example))
        return self.node == longitudes[0], (self._values(latitudes[0]), self._values(longitudes[0]))

    @cached_property
    def _terms(self) -> Mapping[str, str]:
        """The names of the arrays that have the parameters, by term."""
        written = self.array.attribute(_PARAMETERS.key, self.how)
        terms = () if written is None else _PARAMETERS.value(written)
        return {term: name for term, (name,) in terms}

    def _parameters(
        self, terms: tuple[str, ...]
    ) -> tuple[tuple[Parameter, ...], tuple[Stored, ...]]:
        """Return what is known of subareas of the terms that the method has, and the arrays that have it."""
        known = dict.fromkeys((*terms, FLAGS))
        if wrong := [term for term in self._terms if term not in known]:
            text = _("has the terms {wrong}, the interpolation knows {known}")
            said = text.format(wrong=", ".join(wrong), known=", ".join(known))
            raise self._error(_PARAMETERS, said, such_as(_PARAMETERS.example))
        found = [self._parameter(*it) for it in self._terms.items() if it[0] in terms]
        return tuple(it for it, _array in found), tuple(it for _parameter, it in found)

    def _parameter(self, term: str, name: str) -> tuple[Parameter, Stored]:
        """Return a parameter and the array that has it."""
        place = self._place(_PARAMETERS)
        node = _named(self.array, place, name, PARAMETERS)
        axes: dict[str | None, tuple[int, bool]] = {}
        for axis, dim in enumerate(own_dims_of(self.array, self.node)):
            axes[dim] = axis, False
            axes[self._mapped.get(dim, (None, None, None))[2]] = axis, True
        dims = own_dims_of(self.array, node)
        if others := [dim for dim in dims if dim not in axes]:
            text = _(
                "names {node}, whose dimension {dim!r} is none of tie points or their subareas"
            )
            remedy = _("name the dimension of subareas in {key!r}").format(key=_MAPPING.key)
            raise place.error(text.format(node=node, dim=others[0]), PARAMETERS, remedy)
        stored = _numbers(self.array, Stored(node, dims), place, PARAMETERS)
        return (term, tuple(axes[dim] for dim in dims)), stored

    def _flag(self) -> tuple[int | None, int | None]:
        """Return the mask and the value of flags of subareas that are interpolated in space."""
        if FLAGS not in self._terms:
            text = _("has no term {term!r}, which the interpolation needs").format(term=FLAGS)
            raise self._error(_PARAMETERS, text, such_as(f'"{_PARAMETERS.key}": "{FLAGS}: flags"'))
        place = self._place(_PARAMETERS)
        return _flag_of(self.array, _named(self.array, place, self._terms[FLAGS], PARAMETERS))


def positions(
    array: ArrayView, node: Node, dims: tuple[str, ...], place: Fragment, rule: Rule | None = None
) -> Stored:
    """Return an array as the positions of points that are known, or raise XGroupMetadataError.

    Parameters
    ----------
    array : ArrayView
        The array between whose cells they are.
    node : Node
        The positions.
    dims : tuple of str
        Names for the dimensions of these.
    place : Fragment
        What refers to them.
    rule : Rule, optional
        What it breaks that they are no numbers, or none.
    """
    is_packed = any(array.attribute(key, node) for key in ("scale_factor", "add_offset"))
    return _numbers(array, Stored(node, dims, decoded=is_packed), place, rule)


def _numbers(array: ArrayView, source: Stored, place: Fragment, rule: Rule | None) -> Stored:
    """Return an array of numbers as a source, or raise XGroupMetadataError."""
    stored = array.stored(source, place)
    is_number = array.maker.decoded_dtype(stored).kind in "iuf"
    if not is_number or 0 in shape_of(array, stored.node):
        text, remedy = _("names {node}, which has no numbers"), _("name an array of numbers")
        raise place.error(text.format(node=stored.node), rule, remedy)
    return stored


def _flag_of(array: ArrayView, node: Node) -> tuple[int | None, int | None]:
    """Return the mask and the value of the flag that an array of flags has, or raise XGroupMetadataError."""
    meanings, masks, values = (
        array.attribute(key, node) for key in ("flag_meanings", "flag_masks", "flag_values")
    )
    names = str(meanings.value).split() if meanings is not None else []
    found = (
        [_nth(it, names.index(_IN_SPACE)) for it in (masks, values)] if _IN_SPACE in names else []
    )
    if not any(it is not None for it in found):
        place = Fragment(node, ("attributes", "flag_meanings"), None)
        text = _("does not say by which flag or mask {name!r} is meant").format(name=_IN_SPACE)
        raise place.error(
            text, PARAMETERS, such_as(f'"flag_meanings": "{_IN_SPACE}", "flag_masks": 1')
        )
    return found[0], found[1]


def _nth(written: Fragment | None, number: int) -> int | None:
    """Return one of the integers of an attribute, which is no list if it is the only one."""
    if written is None:
        return None
    given = written.value if isinstance(written.value, list) else [written.value]
    found = given[number] if number < len(given) else None
    return found if isinstance(found, int) and abs(found) < 2**63 else None


def _is_of(kind: str, array: ArrayView, node: Node) -> bool:
    """Tell whether an array has latitudes, or longitudes."""
    name, units = (array.attribute(key, node) for key in ("standard_name", "units"))
    is_named = name is not None and name.value == kind
    return is_named or (units is not None and str(units.value) in _PLACES[kind])


def _attributes(array: ArrayView, node: Node) -> dict[str, str]:
    found = {key: array.attribute(key, node) for key in _KEPT}
    return {key: it.value for key, it in found.items() if it is not None}


def _name(array: ArrayView, node: Node) -> str:
    """Return what is interpolated is called: as its tie points, unless the group has these by that name."""
    if array.sibling(node.name) is None:
        return node.name
    name = _standard_name(array, node)
    if name and array.sibling(name) is None:
        return name
    return f"{node.name}{_INTERPOLATED}"


def _standard_name(array: ArrayView, node: Node) -> str:
    """Return the standard name of an array where it can be a name, else ""."""
    written = array.attribute("standard_name", node)
    name = "" if written is None else str(written.value)
    return name if name.isidentifier() else ""
