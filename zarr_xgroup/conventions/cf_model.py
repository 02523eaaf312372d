"""What the attributes of CF are, each described once: of which kind, and what they may be.

Source: CF conventions 1.12, appendix A "Attributes" and appendix F "Grid Mappings", and the sections that
define each.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Literal

from zarr_xgroup.conventions.descriptions import (
    Attribute,
    Kind,
    Parsed,
    Schema,
    Text,
    got,
    shown,
    such_as,
    write,
)
from zarr_xgroup.conventions.timeunits import CALENDAR, CALENDARS, CF
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule, Severity, rules_in
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import is_spelt, respelt
from zarr_xgroup.metadata.nodes import Fragment, kind_of

NAMED = Rule("cf/conventions", CF, "2.6.1 Identification of Conventions")
KINDS = Rule("cf/kinds", CF, "Appendix A Attributes")
VALID = Rule("cf/valid-range", CF, "2.5.1 Missing data, valid and actual range of data")
UNITS = Rule("cf/units", CF, "3.1 Units")
STANDARD_NAME = Rule("cf/standard-name", CF, "3.3 Standard Name")
FLAGS = Rule("cf/flags", CF, "3.5 Flags")
AXIS = Rule("cf/axis", CF, "4 Coordinate Types")
UP_OR_DOWN = Rule("cf/positive", CF, "4.3 Vertical (Height or Depth) Coordinate")
TERMS = Rule("cf/formula-terms", CF, "Appendix D Parametric Vertical Coordinates")
GRID_MAPPING = Rule("cf/grid-mapping", CF, "Appendix F Grid Mappings")
BOUNDS = Rule("cf/bounds", CF, "7.1 Cell Boundaries")
MEASURES = Rule("cf/cell-measures", CF, "7.2 Cell Measures")
METHODS = Rule("cf/cell-methods", CF, "7.3 Cell Methods")
PACKED = Rule("cf/packed", CF, "8.1 Packed Data")
FEATURES = Rule("cf/feature-type", CF, "9.4 The featureType attribute")

RULES = rules_in(vars())

#: Attributes with roles, and how they are written.
WITH_ROLES = {
    "cell_measures": "area: cell_area",
    "formula_terms": "sigma: lev ps: ps ptop: ptop",
}

#: What identifies CF among the conventions that a store names, and what is meant to.
_VERSION = re.compile(r"cf-\d+\.\d+(?![\w.])", re.IGNORECASE)
_MEANT = re.compile(r"cf(?:\W*v?\d[\d.]*)?$", re.IGNORECASE)

#: What may follow a standard name (appendix C).
_MODIFIERS = ("detection_minimum", "number_of_observations", "standard_error", "status_flag")
_STANDARD = re.compile(rf"[A-Za-z]\w*(?:\s+(?:{'|'.join(_MODIFIERS)}))?", re.ASCII)

#: How values of cells follow from what is in them (appendix E).
_METHODS = (
    *("point", "sum", "maximum", "maximum_absolute_value", "mean", "mean_absolute_value"),
    *("mean_of_upper_decile", "median", "mid_range", "minimum", "minimum_absolute_value", "mode"),
    *("range", "root_mean_square", "standard_deviation", "sum_of_squares", "variance"),
)
#: What there is in ``cell_methods`` besides: where, over which and within which times.
_CLAUSES = ("where", "over", "within")
#: Names with colons, then a method with its clauses; again and again.
_METHOD = re.compile(r"(?:n+m(?:cw)*)+")
_BRACKET = re.compile(r"([()])")

#: What a grid mapping needs to be known: attributes, or several of which one is enough.
MAPPINGS: dict[str, tuple[tuple[str, ...], ...]] = {
    "albers_conical_equal_area": (
        ("standard_parallel",),
        ("longitude_of_central_meridian",),
        ("latitude_of_projection_origin",),
    ),
    "azimuthal_equidistant": (
        ("longitude_of_projection_origin",),
        ("latitude_of_projection_origin",),
    ),
    "geostationary": (
        ("longitude_of_projection_origin",),
        ("perspective_point_height",),
        ("sweep_angle_axis", "fixed_angle_axis"),
    ),
    "healpix": (),
    "lambert_azimuthal_equal_area": (
        ("longitude_of_projection_origin",),
        ("latitude_of_projection_origin",),
    ),
    "lambert_conformal_conic": (
        ("standard_parallel",),
        ("longitude_of_central_meridian",),
        ("latitude_of_projection_origin",),
    ),
    "lambert_cylindrical_equal_area": (
        ("longitude_of_central_meridian",),
        ("standard_parallel", "scale_factor_at_projection_origin"),
    ),
    "latitude_longitude": (),
    "mercator": (
        ("longitude_of_projection_origin",),
        ("standard_parallel", "scale_factor_at_projection_origin"),
    ),
    "oblique_mercator": (
        ("azimuth_of_central_line",),
        ("longitude_of_projection_origin",),
        ("latitude_of_projection_origin",),
        ("scale_factor_at_projection_origin",),
    ),
    "orthographic": (
        ("longitude_of_projection_origin",),
        ("latitude_of_projection_origin",),
    ),
    "polar_stereographic": (
        ("straight_vertical_longitude_from_pole", "longitude_of_projection_origin"),
        ("latitude_of_projection_origin",),
        ("standard_parallel", "scale_factor_at_projection_origin"),
    ),
    "rotated_latitude_longitude": (
        ("grid_north_pole_latitude",),
        ("grid_north_pole_longitude",),
    ),
    "sinusoidal": (("longitude_of_projection_origin", "longitude_of_central_meridian"),),
    "stereographic": (
        ("longitude_of_projection_origin",),
        ("latitude_of_projection_origin",),
        ("scale_factor_at_projection_origin",),
    ),
    "transverse_mercator": (
        ("scale_factor_at_central_meridian",),
        ("longitude_of_central_meridian",),
        ("latitude_of_projection_origin",),
    ),
    "vertical_perspective": (
        ("longitude_of_projection_origin",),
        ("latitude_of_projection_origin",),
        ("perspective_point_height",),
    ),
}

#: The terms of formulas by the standard name of a vertical coordinate, each of which counts as zero where it
#: is left out: those without which a formula gives no heights, and others. Of a choice the first that is named.
FORMULAS: dict[str, tuple[tuple[str, str], ...]] = {
    "atmosphere_ln_pressure_coordinate": (("p0 lev", ""),),
    "atmosphere_sigma_coordinate": (("sigma ps", "ptop"),),
    "atmosphere_hybrid_sigma_pressure_coordinate": (("ap b ps", ""), ("a b ps p0", "")),
    "atmosphere_hybrid_height_coordinate": (("a b orog", ""),),
    "atmosphere_sleve_coordinate": (("a b1 b2 ztop zsurf1", "zsurf2"),),
    "ocean_sigma_coordinate": (("sigma depth", "eta"),),
    "ocean_s_coordinate": (("s depth a b depth_c", "eta"),),
    "ocean_s_coordinate_g1": (("s C depth depth_c", "eta"),),
    "ocean_s_coordinate_g2": (("s C depth depth_c", "eta"),),
    "ocean_sigma_z_coordinate": (("sigma depth depth_c zlev", "eta nsigma"),),
    "ocean_double_sigma_coordinate": (("sigma depth z1 z2 a href k_c", ""),),
}


def _conventions(written: Fragment) -> list[str]:
    """Return the conventions that a text names, which are meant to have CF among them."""
    names = [it for it in re.split(r"[\s,]+", written.as_text()) if it]
    wrong = [it for it in names if _MEANT.fullmatch(it) and not _VERSION.match(it)]
    if wrong or not any(map(_VERSION.match, names)):
        raise written.error(got(_("text with a version of CF, such as 'CF-1.12'"), written.value))
    return names


def _standard_name(written: Fragment) -> str:
    name = written.as_text()
    if not _STANDARD.fullmatch(name):
        expected = _("one name of letters, digits and underscores, maybe with one of {modifiers}")
        expected = expected.format(modifiers=", ".join(_MODIFIERS))
        raise written.error(got(expected, name))
    return name


def _methods(written: Fragment) -> str:
    text = written.as_text()
    if not _METHOD.fullmatch("".join(map(_part, _without_notes(text).split()))):
        raise written.error(got(_("names with a colon and a method of appendix E"), text))
    return text


def _part(word: str) -> str:
    """Return which part of ``cell_methods`` a word is: a name, a method in any case, a clause, or a word of one."""
    if word.endswith(":"):
        return "n"
    return "m" if word.lower() in _METHODS else "c" if word in _CLAUSES else "w"


def _without_notes(text: str) -> str:
    """Return a text without what stands in brackets."""
    depth, kept = 0, []
    for piece in _BRACKET.split(text):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        kept.append(piece if depth == 0 and piece != ")" else " ")
    return "".join(kept)


def _numbers(written: Fragment, least: int, most: int, *, is_whole: bool = False) -> list[float]:
    """Return numbers: a list of them, or a single one."""
    value = written.value
    numbers = list(value) if isinstance(value, list) else [value]
    are_numbers = all(map(_is_whole if is_whole else is_finite, numbers))
    if not (are_numbers and least <= len(numbers) <= most):
        few = str(least) if least == most else f"{least}, ..., {most}"
        expected = _("numbers ({count})").format(count=few) if most > 1 else _("a number")
        raise written.error(
            _("must be {expected}, got {value}").format(expected=expected, value=shown(value))
        )
    return numbers


def _values(written: Fragment) -> list[Any]:
    """Return values of the type of an array: a list of them, or a single one."""
    values = written.value if isinstance(written.value, list) else [written.value]
    if {*map(kind_of, values)} not in ({"number"}, {"string"}):
        raise written.error(got(_("a number, a string or a list of such"), written.value))
    return list(values)


def as_names(written: Fragment) -> str:
    """Return the remedy to write names as CF has them: with blanks between them, and roles with a colon."""
    key, value = written.keys[-1], written.value
    names = value if isinstance(value, list) else [value]
    spelt = respelt(key, " ".join(map(str, names)))
    if is_spelt(key, spelt) and all(isinstance(it, str) for it in names):
        return write(key, spelt)
    return such_as(f'"{key}": "{WITH_ROLES.get(key, "name")}"')


def _joined(written: Fragment) -> str:
    """Return the remedy to write words as CF has them: in one text, with blanks between them."""
    words = written.value if isinstance(written.value, list) else [written.value]
    return write("flag_meanings", " ".join(str(it).strip().replace(" ", "_") for it in words))


def _is_whole(value: Any) -> bool:
    return is_finite(value) and value == int(value)


#: How many values, or months, or parallels there may be at most.
_ANY = 10**6


def _some(least: int = 1, most: int = 1, *, is_whole: bool = False) -> Kind:
    """Return the kind of so many numbers; one of them may stand without a list."""
    kind = "integer" if is_whole else "number"
    several: Schema = {"type": "array", "items": {"type": kind}, "minItems": least}
    several |= {"maxItems": most} if most < _ANY else {}
    schema = several if least > 1 else {"anyOf": [{"type": kind}, several]}
    return Parsed(partial(_numbers, least=least, most=most, is_whole=is_whole), schema)


_ONE = _some()
#: Values of whichever type an array has.
_VALUES = Parsed(
    _values,
    {
        "anyOf": [
            {"type": ["number", "string"]},
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]
    },
)
_TEXT: Schema = {"type": "string"}


def _attribute(
    key: str,
    kind: Kind,
    rule: Rule,
    example: Any,
    severity: Severity = "warning",
    on: Literal["array", "group"] | None = "array",
) -> Attribute:
    text = f'"{example}"' if isinstance(example, str) else str(example)
    return Attribute(key, kind, rule, f'"{key}": {text}', severity, on=on, is_needed=False)


def _texts(rule: Rule, *keys: str, on: Literal["array"] | None = "array") -> list[Attribute]:
    """Return attributes that are any text, and cost the reader nothing."""
    return [_attribute(key, Text(), rule, "...", on=on) for key in keys]


OF_CALENDAR = _attribute(
    "calendar",
    Text(CALENDARS, any_case=True, rule=CALENDAR, severity="error"),
    CALENDAR,
    "standard",
    "error",
)

#: Those of arrays and groups.
ATTRIBUTES = (
    _attribute("Conventions", Parsed(_conventions, _TEXT), NAMED, "CF-1.12", on="group"),
    _attribute(
        "featureType",
        Text(
            (
                *("point", "timeSeries", "trajectory", "profile"),
                *("timeSeriesProfile", "trajectoryProfile"),
            ),
            any_case=True,
        ),
        FEATURES,
        "timeSeries",
        on="group",
    ),
    *_texts(
        KINDS,
        *("title", "history", "institution", "source", "references", "comment"),
        "external_variables",
        on=None,
    ),
    *_texts(
        KINDS,
        *("long_name", "cf_role", "compress", "computed_standard_name", "geometry"),
        *("instance_dimension", "interior_ring", "node_coordinates", "node_count", "nodes"),
        *("part_node_count", "sample_dimension", "units_metadata"),
    ),
    _attribute("units", Text(), UNITS, "m s-1", "error"),
    OF_CALENDAR,
    _attribute("standard_name", Parsed(_standard_name, _TEXT), STANDARD_NAME, "air_temperature"),
    _attribute("axis", Text(("X", "Y", "Z", "T")), AXIS, "X"),
    _attribute("positive", Text(("up", "down"), any_case=True), UP_OR_DOWN, "up"),
    _attribute("cell_methods", Parsed(_methods, _TEXT), METHODS, "time: mean"),
    _attribute("flag_meanings", Text(remedy=_joined), FLAGS, "clear cloudy"),
    _attribute("flag_values", _VALUES, FLAGS, [0, 1]),
    _attribute("flag_masks", _some(1, _ANY, is_whole=True), FLAGS, [1, 2]),
    _attribute("missing_value", _VALUES, VALID, -999.0, "error"),
    _attribute("valid_min", _ONE, VALID, 0),
    _attribute("valid_max", _ONE, VALID, 100),
    _attribute("valid_range", _some(2, 2), VALID, [0, 100]),
    _attribute("actual_range", _some(2, 2), VALID, [0.5, 99.5]),
    _attribute("scale_factor", _ONE, PACKED, 0.01, "error"),
    _attribute("add_offset", _ONE, PACKED, 0.0, "error"),
    _attribute("standard_error_multiplier", _ONE, KINDS, 1.0),
    _attribute("leap_month", _some(is_whole=True), KINDS, 2),
    _attribute("leap_year", _some(is_whole=True), KINDS, 1972),
    _attribute("month_lengths", _some(12, 12, is_whole=True), KINDS, [31, 28, "..."]),
    _attribute(
        "grid_mapping_name", Text(tuple(MAPPINGS)), GRID_MAPPING, "latitude_longitude", "error"
    ),
    *(
        _attribute(key, Text(), GRID_MAPPING, "...")
        for key in (
            *("crs_wkt", "geographic_crs_name", "geoid_name", "geopotential_datum_name"),
            *("horizontal_datum_name", "prime_meridian_name", "projected_crs_name"),
            "reference_ellipsoid_name",
        )
    ),
    _attribute("sweep_angle_axis", Text(("x", "y")), GRID_MAPPING, "y"),
    _attribute("fixed_angle_axis", Text(("x", "y")), GRID_MAPPING, "x"),
    _attribute("standard_parallel", _some(1, 2), GRID_MAPPING, [25.0, 60.0], "error"),
    _attribute("towgs84", _some(3, 7), GRID_MAPPING, [0, 0, 0]),
    *(
        _attribute(key, _ONE, GRID_MAPPING, 0.0, "error")
        for key in (
            *("azimuth_of_central_line", "earth_radius", "false_easting", "false_northing"),
            *("grid_north_pole_latitude", "grid_north_pole_longitude", "inverse_flattening"),
            *("latitude_of_projection_origin", "longitude_of_central_meridian"),
            *("longitude_of_prime_meridian", "longitude_of_projection_origin"),
            *("north_pole_grid_longitude", "perspective_point_height"),
            *("scale_factor_at_central_meridian", "scale_factor_at_projection_origin"),
            *("semi_major_axis", "semi_minor_axis", "straight_vertical_longitude_from_pole"),
        )
    ),
)
