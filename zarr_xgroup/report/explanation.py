"""What was found in a store and what an open makes of it: plain values, made to be shown.

They know neither zarr nor xarray and hold no reference to the store. Places are texts here:
absolute paths, JSON pointers (RFC 6901), and for other stores their URI without credentials.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeAlias

import msgspec

from zarr_xgroup.findings import Finding, Place, shortened
from zarr_xgroup.redaction import printable

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

#: Raised when a member of `to_dict` changes its meaning or goes; additions leave it.
VERSION = 1

#: The attributes of a finding in the JSON of a verdict; the others only matter when the store is opened.
_FIELDS_IN_JSON = ("rule", "place", "text", "remedy", "severity", "places", "count")

#: How many letters of one name are shown.
LONGEST_NAME = 120

#: Where the values of a coordinate are: see `FoundCoordinate`.
Kind: TypeAlias = Literal["own", "stored", "foreign", "computed", "inline", "given"]


def parent_of(path: str) -> str:
    """Return the path of the group that a node is in, "/" for the root itself."""
    return path.rpartition("/")[0] or "/"


@dataclass(frozen=True)
class FoundReference:
    """A reference, and where it leads.

    Attributes
    ----------
    source : Place
        Where it is written.
    target : str
        What is written there: ``uri|node#pointer`` as far as given, or a name or path of CF.
    leads_to : Place or None
        What it leads to, None if nowhere.
    by_fallback : bool
        Whether it leads there only by another rule than the first (specification, "References").
    text : str
        Why it leads nowhere, or which choice was made; "" where it leads straight there.
    arrays : tuple of str
        The arrays that it is followed for.
    """

    source: Place
    target: str
    leads_to: Place | None
    by_fallback: bool = False
    text: str = ""
    arrays: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundConvention:
    """A convention that an array follows, or that it or its group declares.

    Attributes
    ----------
    name : str
        Its name.
    tier : {"principal", "service", "recognised", "unknown"}
        Its tier. One that is recognised says nothing about coordinates; nothing is read of either of the
        last two.
    declared_in : str or None
        The path of the node that declares it; None if it is assumed (`assume_conventions`), or if it
        applies without a declaration.
    """

    name: str
    tier: Literal["principal", "service", "recognised", "unknown"]
    declared_in: str | None


@dataclass(frozen=True)
class FoundCrs:
    """A coordinate reference system.

    Attributes
    ----------
    name : str
        What pyproj calls it, or the text as written if it is not understood.
    code : str or None
        Authority and code, if it has one (``EPSG:32633``).
    variable : str or None
        The variable of the group's Dataset that stands for it.
    """

    name: str
    code: str | None = None
    variable: str | None = None


@dataclass(frozen=True)
class FoundCoordinate:
    """A coordinate that an array, or several of a group, are given.

    Attributes
    ----------
    name : str
        Its name in the group's Dataset.
    dims : tuple of str
        Its dimensions.
    kind : {"own", "stored", "foreign", "computed", "inline", "given"}
        Where its values are: in an array of the group, in an array of another group, in another
        store, nowhere (they follow from numbers), in metadata; or a third party's handler gives them.
    origin : Place or None
        The array that they are stored in.
    text : str
        In words: what it is read or computed from, what it is to other variables, and what it replaces.
    is_index : bool
        Whether it is the coordinate of its dimension.
    bounds : str or None
        The variable of its cell boundaries.
    arrays : tuple of str
        The paths of the arrays that have it.
    replaces : tuple of str
        In words: the declarations that are not used because the group has this coordinate itself. They are
        part of the text.
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


@dataclass(frozen=True)
class FoundProblem:
    """A finding: what was found, and what was done.

    Attributes
    ----------
    kind : str
        What it is about: a value of `zarr_xgroup.Topic`.
    text : str
        What was found.
    place : Place or None
        Where.
    arrays : tuple of str
        The arrays that it concerns.
    lost : str
        What these are opened without, if anything.
    count : int
        How many problems it stands for: several where it is the last of many of its kind.
    """

    kind: str
    text: str
    place: Place | None = None
    arrays: tuple[str, ...] = ()
    lost: str = ""
    count: int = 1

    @property
    def other_arrays(self) -> list[str]:
        """The arrays that it concerns besides the node of its place."""
        return [path for path in self.arrays if self.place is None or path != self.place.node]


@dataclass(frozen=True)
class FoundArray:
    """An array of a group.

    Attributes
    ----------
    path : str
        Its absolute path.
    dims : tuple of str
        The names that its dimensions have in the group's Dataset.
    shape : tuple of int
        Its shape.
    dtype : str
        The type of its stored values, as `numpy.dtype` spells it.
    is_coordinate : bool
        Whether it is a coordinate of the group's Dataset.
    conventions : tuple of FoundConvention
        Those that it follows, the principal one first.
    coordinates : tuple of str
        The names of its coordinates in the group's Dataset.
    missing : tuple of str
        Its dimensions along which there is no coordinate.
    crs : FoundCrs or None
        Its coordinate reference system.
    times : str
        In words: which times it is because the arrays that refer to it declare them; "" if none.
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

    @property
    def name(self) -> str:
        """The last segment of its path."""
        return self.path.rpartition("/")[2]

    @property
    def sizes(self) -> list[tuple[str, int | str]]:
        """Its dimensions with their sizes."""
        return list(zip_longest(self.dims, self.shape, fillvalue="?"))


@dataclass(frozen=True)
class FoundLevel:
    """A level of a pyramid.

    Attributes
    ----------
    path : str
        The absolute path of the group or array that it is.
    resolution : tuple of float or None
        The size of its cells along Y and X, None if metadata do not say it.
    unit : str
        The unit of that, "" if it is not known.
    shape, chunk : tuple of int or None
        The numbers of rows and of columns: of its finest array, of a chunk of that.
    factor : tuple of float or None
        How many times as long cells are as those of the finest level, along Y and X.
    refinement : int or None
        The level of its cells in a discrete global grid system, whose number is the `shape`.
    """

    path: str
    resolution: tuple[float, float] | None = None
    unit: str = ""
    shape: tuple[int, ...] | None = None
    chunk: tuple[int, ...] | None = None
    factor: tuple[float, float] | None = None
    refinement: int | None = None


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which has an s unless the number is 1."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def short(text: str, longest: int = LONGEST_NAME) -> str:
    """Return a text with control characters as escapes, and its middle left out if it is too long."""
    return shortened(printable(text), longest)


def level_table(levels: Sequence[FoundLevel]) -> list[list[str]]:
    """Return levels as a table of texts: the heads of its columns, and a row for each."""

    def pair(numbers: Sequence[float] | None) -> str:
        """Return two numbers, or the one that both are if they are lengths; "?" if not known."""
        if not numbers:
            return "?"
        texts = [str(int(number)) if number == int(number) else str(number) for number in numbers]
        is_one = isinstance(numbers[0], float) and len(set(texts)) == 1
        return texts[0] if is_one else " x ".join(texts)

    rows = [["level", "resolution", "rows x columns", "of a chunk", "factor"]]
    for level in levels:
        size = f"{pair(level.resolution)} {level.unit if level.resolution else ''}".strip()
        if level.refinement is not None:
            size = f"refinement level {level.refinement}"
        rows.append([level.path, size, *map(pair, (level.shape, level.chunk, level.factor))])
    return rows


@dataclass(frozen=True)
class FoundGroup:
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
        Its levels if it is a pyramid, the finest first.
    """

    path: str
    arrays: tuple[FoundArray, ...] = ()
    coordinates: tuple[FoundCoordinate, ...] = ()
    levels: tuple[FoundLevel, ...] = ()

    @property
    def name(self) -> str:
        """The last segment of its path, "" of the root."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class FoundStore:
    """The data of an `Explanation`."""

    store: str
    group: str
    zarr_format: int
    is_consolidated: bool
    groups: tuple[FoundGroup, ...] = ()
    references: tuple[FoundReference, ...] = ()
    problems: tuple[FoundProblem, ...] = ()

    @property
    def array_count(self) -> int:
        """The number of arrays in all groups."""
        return sum(len(group.arrays) for group in self.groups)

    @property
    def problem_count(self) -> int:
        """The number of problems, including those that the last of a kind stands for."""
        return sum(problem.count for problem in self.problems)

    def to_dict(self) -> dict[str, JsonValue]:
        """Return it as JSON values: each object has the attributes of a class, by their names."""
        return {"version": VERSION, **as_json(self)}


@dataclass(frozen=True)
class FoundMistakes:
    """The data of a `Verdict`."""

    store: str
    group: str
    mistakes: tuple[Finding, ...] = ()
    is_declared: bool = True

    def to_dict(self) -> dict[str, JsonValue]:
        """Return it as JSON values: each object has attributes of a class, by their names."""
        mistakes = [
            {name: getattr(mistake, name) for name in _FIELDS_IN_JSON} for mistake in self.mistakes
        ]
        return {"version": VERSION, **as_json({**vars(self), "mistakes": mistakes})}


def as_json(value: Any) -> Any:
    """Return a value made of dataclasses, dicts, tuples and texts as JSON values."""
    # Not encoded by msgspec: texts may have letters that UTF-8 has not.
    return json.loads(json.dumps(msgspec.to_builtins(value)))
