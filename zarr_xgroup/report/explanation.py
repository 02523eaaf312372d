"""The values of an explanation and of a verdict: records, independent of zarr and xarray.

They hold no reference to the store. Paths are absolute, pointers are JSON pointers (RFC 6901), and URIs of
other stores have no credentials.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

import msgspec

from zarr_xgroup.findings import Finding, Place, shortened
from zarr_xgroup.redaction import printable

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

#: Increased when a member of `to_dict` is removed or changes its meaning, not when one is added.
VERSION = 1

#: The attributes of a finding in the JSON of a verdict; the others matter only when the store is opened.
_FIELDS_IN_JSON = ("rule", "place", "text", "remedy", "severity", "places", "count")

#: The longest name that is shown whole, in characters.
LONGEST_NAME = 120

#: Where the values of a coordinate come from: see `FoundCoordinate`.
Kind: TypeAlias = Literal["own", "stored", "foreign", "computed", "inline", "given"]


def parent_of(path: str) -> str:
    """Return the path of the group that contains a node, "/" for the root itself."""
    return path.rpartition("/")[0] or "/"


def path_in(group: str, path: str) -> str:
    """Return the path of a node relative to a group, unchanged if the group does not contain it or is ""."""
    inside = path.removeprefix(f"{group.rstrip('/')}/")
    return inside if group and inside else path


class FoundReference(msgspec.Struct, frozen=True):
    """A reference and its target.

    Attributes
    ----------
    source : Place
        The place of the reference.
    target : str
        The reference as written: ``uri|node#pointer`` with the parts that it has, or a name or path of CF.
    leads_to : Place or None
        The referenced node or value, None if the reference cannot be resolved.
    by_fallback : bool
        Whether only a later rule resolves it, not the first one (specification, "References").
    text : str
        Why it cannot be resolved, or which choice was made; "" otherwise.
    arrays : tuple of str
        The arrays that use it.
    """

    source: Place
    target: str
    leads_to: Place | None
    by_fallback: bool = False
    text: str = ""
    arrays: tuple[str, ...] = ()


class FoundConvention(msgspec.Struct, frozen=True):
    """A convention that an array follows, or that it or its group declares.

    Attributes
    ----------
    name : str
        Its name.
    tier : {"principal", "service", "recognised", "unknown"}
        Its tier. A recognised convention defines no coordinates. The last two are not read.
    declared_in : str or None
        The path of the node that declares it; None if it is assumed (`assume_conventions`), or if it
        applies without a declaration.
    is_assumed : bool
        Whether the option `assume_conventions` applies it to the array.
    """

    name: str
    tier: Literal["principal", "service", "recognised", "unknown"]
    declared_in: str | None
    is_assumed: bool = False


class FoundCrs(msgspec.Struct, frozen=True):
    """A coordinate reference system.

    Attributes
    ----------
    name : str
        Its name in pyproj, or the text as written if pyproj does not understand it.
    code : str or None
        Authority and code (``EPSG:32633``), None if it has no code.
    variable : str or None
        The grid mapping variable in the group's Dataset.
    """

    name: str
    code: str | None = None
    variable: str | None = None


class FoundCoordinate(msgspec.Struct, frozen=True):
    """A coordinate of one or several arrays of a group.

    Attributes
    ----------
    name : str
        Its name in the group's Dataset.
    dims : tuple of str
        Its dimensions.
    kind : {"own", "stored", "foreign", "computed", "inline", "given"}
        Where its values come from: an array of the group, an array of a different group, a different store,
        a computation, the metadata, or a third party's handler.
    origin : Place or None
        The array in which the values are stored.
    text : str
        A description: the source of the values, the role for other variables, and the overridden declarations.
    is_index : bool
        Whether it is the coordinate of its dimension.
    bounds : str or None
        The name of the variable with its cell boundaries.
    arrays : tuple of str
        The paths of the arrays that have it.
    replaces : tuple of str
        Descriptions of the declarations that are ignored because the group has this coordinate itself. `text`
        contains them.
    """

    name: str
    dims: tuple[str, ...]
    kind: Kind
    origin: Place | None = None
    text: str = ""
    is_index: bool = False
    bounds: str | None = None
    arrays: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()


class FoundProblem(msgspec.Struct, frozen=True):
    """A problem, or a choice that was made.

    Attributes
    ----------
    kind : str
        Its topic: a value of `zarr_xgroup.Topic`.
    text : str
        What is wrong, and what was done instead.
    place : Place or None
        The place of the value in question.
    arrays : tuple of str
        The affected arrays.
    lost : str
        The part without which these arrays are opened, "" if nothing is missing.
    count : int
        The number of problems: above 1 if it is the last one shown of its kind and represents the others.
    rule : str
        The name of the rule that is broken.
    """

    kind: str
    text: str
    place: Place | None = None
    arrays: tuple[str, ...] = ()
    lost: str = ""
    count: int = 1
    rule: str = ""

    @property
    def other_arrays(self) -> list[str]:
        """The affected arrays, without the node of its place."""
        return [path for path in self.arrays if self.place is None or path != self.place.node]


class FoundArray(msgspec.Struct, frozen=True):
    """An array of a group.

    Attributes
    ----------
    path : str
        Its absolute path.
    dims : tuple of str
        The names of its dimensions in the group's Dataset.
    shape : tuple of int
        Its shape.
    dtype : str
        The type of its stored values, in numpy's spelling.
    is_coordinate : bool
        Whether it is a coordinate of the group's Dataset.
    conventions : tuple of FoundConvention
        The conventions that apply to it, the principal one first.
    coordinates : tuple of str
        The names of its coordinates in the group's Dataset.
    missing : tuple of str
        Its dimensions along which there is no coordinate.
    crs : FoundCrs or None
        Its coordinate reference system.
    times : str
        The times that the arrays referring to it declare it to be, "" if it is not times.
    units : str
        Its units, "" if it has none.
    """

    path: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    is_coordinate: bool = False
    conventions: tuple[FoundConvention, ...] = ()
    coordinates: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    crs: FoundCrs | None = None
    times: str = ""
    units: str = ""

    @property
    def name(self) -> str:
        """The last segment of its path."""
        return self.path.rpartition("/")[2]

    @property
    def sizes(self) -> list[tuple[str, int | str]]:
        """Its dimensions with their sizes."""
        return list(zip_longest(self.dims, self.shape, fillvalue="?"))

    @property
    def sizes_as_text(self) -> str:
        """Its dimensions with their sizes in xarray's form: ``(y: 3, x: 4)``."""
        return f"({', '.join(f'{dim}: {size}' for dim, size in self.sizes)})"


class FoundLevel(msgspec.Struct, frozen=True):
    """A level of a pyramid.

    Attributes
    ----------
    path : str
        The absolute path of its group or array.
    resolution : tuple of float or None
        The size of its cells along Y and X, None if it is not known.
    unit : str
        The unit of the resolution, "" if it is not known.
    shape, chunk : tuple of int or None
        The numbers of rows and columns of its finest array, and of a chunk of that array. The number of cells in
        a discrete global grid system.
    factor : tuple of float or None
        The length of its cells along Y and X, as a multiple of those of the finest level. None if it is not known.
    refinement : int or None
        The refinement level of its cells in a discrete global grid system.
    is_declared : bool
        Whether the resolution is the declared one although coordinates are stored, because `explain` reads no values.
    arrays, missing : tuple of str
        The names of its arrays along Y and X, and of those that only other levels have. Sorted.
    """

    path: str
    resolution: tuple[float, float] | None = None
    unit: str = ""
    shape: tuple[int, ...] | None = None
    chunk: tuple[int, ...] | None = None
    factor: tuple[float, float] | None = None
    refinement: int | None = None
    is_declared: bool = False
    arrays: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text with control characters escaped, without its middle if it is too long."""
    return shortened(printable(text), longest)


def level_table(levels: Sequence[FoundLevel]) -> list[list[str]]:
    """Return levels as a table of texts: the column headings, then a row for each level.

    If factors are not known, these are the ratios of the sizes of arrays, with ``~`` unless they are whole numbers.
    """
    rows = [["level", "resolution", "rows x columns", "chunk", "factor"]]
    for level in levels:
        size = f"{_pair(level.resolution)} {level.unit if level.resolution else ''}".strip()
        if level.is_declared:
            size = f"{size} (declared)"
        if level.refinement is not None:
            size = f"refinement level {level.refinement}"
        texts = size, _pair(level.shape), _pair(level.chunk), _factor(level, levels)
        rows.append([level.path, *texts])
    return rows


def _pair(numbers: Sequence[float] | None) -> str:
    """Return two numbers, or one if both are the same length; "?" if they are not known."""
    if not numbers:
        return "?"
    # Six significant digits of a size; the numbers of cells and ratios are whole, or have few digits.
    texts = [str(int(number)) if number == int(number) else f"{number:.6g}" for number in numbers]
    is_one = isinstance(numbers[0], float) and len(set(texts)) == 1
    return texts[0] if is_one else " x ".join(texts)


def _factor(level: FoundLevel, levels: Sequence[FoundLevel]) -> str:
    """Return how many times as long the cells of a level are as those of the first level."""
    shapes = (levels[0].shape, level.shape)
    is_known = any(other.factor for other in levels)
    if is_known or not all(shape and len(shape) == 2 and all(shape) for shape in shapes):
        return _pair(level.factor)
    ratios = [finest / own for finest, own in zip(*map(tuple, shapes), strict=True)]  # type: ignore[arg-type]
    if all(ratio == int(ratio) for ratio in ratios):
        return _pair(ratios)
    return f"~{' x '.join(dict.fromkeys(f'{ratio:.3g}' for ratio in ratios))}"


class FoundGroup(msgspec.Struct, frozen=True):
    """A group.

    Attributes
    ----------
    path : str
        Its absolute path.
    arrays : tuple of FoundArray
        Its arrays, sorted by name.
    coordinates : tuple of FoundCoordinate
        The coordinates of its Dataset.
    levels : tuple of FoundLevel
        Its levels if it is a pyramid, the finest one first.
    """

    path: str
    arrays: tuple[FoundArray, ...] = ()
    coordinates: tuple[FoundCoordinate, ...] = ()
    levels: tuple[FoundLevel, ...] = ()

    @property
    def name(self) -> str:
        """The last segment of its path, "" for the root."""
        return self.path.rpartition("/")[2]


class FoundStore(msgspec.Struct, frozen=True):
    """The data of an `Explanation`."""

    store: str
    group: str
    zarr_format: int
    is_consolidated: bool
    groups: tuple[FoundGroup, ...] = ()
    references: tuple[FoundReference, ...] = ()
    problems: tuple[FoundProblem, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def array_count(self) -> int:
        """The number of arrays in all groups."""
        return sum(len(group.arrays) for group in self.groups)

    @property
    def problem_count(self) -> int:
        """The number of problems, including those that the last one of a kind represents."""
        return sum(problem.count for problem in self.problems)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the explanation as JSON values: the members of an object are the attributes of a class."""
        return {"version": VERSION, **as_json(self)}


class FoundMistakes(msgspec.Struct, frozen=True):
    """The data of a `Verdict`."""

    store: str
    group: str
    mistakes: tuple[Finding, ...] = ()
    is_declared: bool = True
    without_coordinates: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, JsonValue]:
        """Return the verdict as JSON values: the members of an object are attributes of a class."""
        mistakes = [
            {name: getattr(mistake, name) for name in _FIELDS_IN_JSON} for mistake in self.mistakes
        ]
        return {
            "version": VERSION,
            **as_json({**msgspec.structs.asdict(self), "mistakes": mistakes}),
        }


def as_json(value: Any) -> Any:
    """Return a value made of records, dicts, tuples and texts as JSON values."""
    # Not encoded by msgspec: texts may contain surrogates, which UTF-8 cannot encode.
    return json.loads(json.dumps(msgspec.to_builtins(value)))
