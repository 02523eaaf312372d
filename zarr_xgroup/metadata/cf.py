"""CF attributes: the names and paths in them, the nodes that these may refer to, and the axis that they define.

Source: CF conventions 1.12, section 2.7 "Groups", and the sections that define the attributes
(3.4, 4, 4.3.3, 5, 5.6, 7.1, 7.2, 7.4, appendix A).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from zarr_xgroup.metadata.paths import relative_path

#: Attributes that name the boundaries of cells.
BOUNDARIES = ("bounds", "climatology")
#: Attributes that are a list of names.
LISTS = ("coordinates", *BOUNDARIES, "ancillary_variables")
#: Attributes that are a list of `role: name` pairs.
PAIRS = ("cell_measures", "formula_terms")
#: Attributes that refer to other variables. ``grid_mapping`` is one name, or `crs: coordinate coordinate ...` groups.
REFERRING = (*LISTS, *PAIRS, "grid_mapping")
#: Attributes that are a list of words in one text.
WORD_LISTS = (*REFERRING, "flag_meanings", "cell_methods", "external_variables", "Conventions")
#: Attributes whose targets have only dimensions of the array: an array with other dimensions is not the target.
ALONG = ("coordinates", "ancillary_variables", "cell_measures")

#: Attributes that are strings in CF, and therefore in xarray's decoding.
STRING_ATTRIBUTES = (*REFERRING, "units", "calendar", "dtype")
#: Attributes of packed numbers (CF 1.12, 8.1).
PACKED_BY = ("scale_factor", "add_offset")
#: Attributes that xarray's decoding of the numbers of a variable uses.
DECODED_BY = frozenset(
    {"units", "calendar", *PACKED_BY, "_FillValue", "missing_value"}
    | {"_Unsigned", "_Encoding", "dtype"}
)


def words_of(attributes: Mapping[str, Any], key: str) -> list[str]:
    """Return the words of an attribute: names, and roles in front of names."""
    value = attributes.get(key)
    return value.split() if isinstance(value, str) else []


def names_in(attributes: Mapping[str, Any], key: str) -> list[str]:
    """Return the names and paths in an attribute that is a list of names, or of roles and names."""
    return [word for word in words_of(attributes, key) if not _is_role(key, word)]


def names_by_key(attributes: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key of each referring attribute of a variable with each name or path in it."""
    for key in REFERRING:
        for name in names_in(attributes, key) if key in attributes else ():
            yield key, name.rstrip(":")


def _is_role(key: str, word: str) -> bool:
    """Return whether a word is a role, such as ``area:`` in ``area: cell_area``."""
    return key in PAIRS and word.endswith(":")


def with_names(key: str, text: str, names: Mapping[str, str]) -> str:
    """Return the text of the attribute `key` with names and paths replaced according to `names`."""
    words = []
    for word in text.split():
        name = word.rstrip(":")
        replaced = name if _is_role(key, word) else names.get(name, name)
        words.append(f"{replaced}{word.removeprefix(name)}")
    return " ".join(words)


def mappings_in(attributes: Mapping[str, Any]) -> list[str]:
    """Return the CRS variables in ``grid_mapping``: ``crs``, or ``crs: x y`` with its coordinates (CF 1.12, 5.6)."""
    words = words_of(attributes, "grid_mapping")
    return [word.removesuffix(":") for word in words if word.endswith(":")] or words


def only_mapping(attributes: Mapping[str, Any]) -> str | None:
    """Return the CRS variable in ``grid_mapping``, None if it names no or several variables."""
    mappings = mappings_in(attributes)
    return mappings[0] if len(mappings) == 1 else None


def candidate_paths(name: str, group: str) -> Iterator[str]:
    """Yield the paths that a name in an attribute may refer to, nearest first (CF 2.7).

    Parameters
    ----------
    name : str
        A name, or an absolute or relative path.
    group : str
        The path of the group that contains the referring variable.

    Yields
    ------
    str
        Paths from the root of the store, without leading slash; nothing for a relative path above the root.
    """
    if "/" in name or name in (".", ".."):
        segments = [segment for segment in name.split("/") if segment]
        path = relative_path("" if name.startswith("/") else group, "/".join(segments) or ".")
        if path is not None:
            yield path
    else:
        segments = group.split("/") if group else []
        for depth in range(len(segments), -1, -1):
            yield "/".join([*segments[:depth], name])


# Axes: the horizontal axis of an array or a dimension, by its own attributes or name.

#: Units of longitudes and of latitudes (CF 1.12, 4.1 and 4.2).
LONGITUDES = frozenset(
    {"degrees_east", "degree_east", "degrees_E", "degree_E", "degreesE", "degreeE"}
)
LATITUDES = frozenset(
    {"degrees_north", "degree_north", "degrees_N", "degree_N", "degreesN", "degreeN"}
)

#: The axis of a coordinate array, by attribute and its value (CF 1.12, chapter 4). The first attribute is the most specific.
_BY_ATTRIBUTE = {
    "standard_name": {
        **dict.fromkeys(("longitude", "grid_longitude", "projection_x_coordinate"), "X"),
        **dict.fromkeys(("latitude", "grid_latitude", "projection_y_coordinate"), "Y"),
    },
    "axis": {"X": "X", "Y": "Y"},
    "units": {**dict.fromkeys(LONGITUDES, "X"), **dict.fromkeys(LATITUDES, "Y")},
}

#: Pairs of names along Y and X, in lower case.
PAIRS_OF_NAMES = (("y", "x"), ("lat", "lon"), ("latitude", "longitude"), ("northing", "easting"))

#: The axis of a dimension or coordinate array, by name in lower case.
_BY_NAME = {name: axis for pair in PAIRS_OF_NAMES for name, axis in zip(pair, "YX", strict=True)}


def axis_by_attributes(attributes: Mapping[str, Any]) -> str | None:
    """Return the axis of a coordinate array by its attributes, ``X`` or ``Y``, or None."""
    for key, axes in _BY_ATTRIBUTE.items():
        value = attributes.get(key)
        if isinstance(value, str) and value in axes:
            return axes[value]
    return None


def axis_by_name(name: str) -> str | None:
    """Return the axis of a dimension or coordinate array by its name, ``X`` or ``Y``, or None."""
    return _BY_NAME.get(name.lower())
