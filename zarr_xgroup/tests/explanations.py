"""Explanations to display: of a store with all kinds of content, large ones, and hostile ones."""

import io
from functools import cache
from typing import Any

import numpy as np
from msgspec import structs
from msgspec.structs import replace

from zarr_xgroup import explain
from zarr_xgroup.findings import Place
from zarr_xgroup.report.explanation import (
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundProblem,
    FoundReference,
)
from zarr_xgroup.report.results import Explanation
from zarr_xgroup.tests.builders import Array, Json, Nodes, declaring
from zarr_xgroup.tests.tables import store_of

#: Names that must not be interpreted as HTML, markup or control characters.
HOSTILE_NAMES = (
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "'&amp;\\u003c]]>",
    "[bold red]control\x00\x07\x1b[31m\x9b31m\r\n\u2028:smile:",
    "bidi\u202egnp.exe\u2066",
    "lone \ud800 surrogate",
    "__proto__",
    "constructor",
    "long" * 250,
)


class Stream(io.TextIOWrapper):
    """An output stream with an encoding, optionally a terminal."""

    def __init__(self, *, terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    @property
    def text(self) -> str:
        self.flush()
        content: Any = self.buffer
        return str(content.getvalue().decode(self.encoding))


def sized(dims: str, *shape: int, dtype: Any = "float32", **attrs: Any) -> Array:
    """Return an array of zeros; `dims` is one string with spaces."""
    return Array(np.broadcast_to(np.zeros((), dtype), shape), dims.split(), attrs)


def axes(**values: Json) -> Json:
    """Return the attributes of an array that declares axes, each given by values or by a coordinate set."""
    declared = {
        name: {"coordinates": [item if "values" in item else {"values": item}]}
        for name, item in values.items()
    }
    return declaring("cs", cs={"crs": [{"id": {"proj:code": "EPSG:4326"}, "axes": declared}]})


def external(node: str, **more: str) -> Json:
    """Return values that refer to an array."""
    return {"external": {"node": node, **more}}


def located(x: str, y: str) -> Json:
    """Return the attributes of an array that declares two geolocation arrays."""
    return declaring("geolocation", geolocation={"geodetic": {"x": {"node": x}, "y": {"node": y}}})


CELLS = {"values": {"regular": [44.5, -1.0]}, "boundaries": {"regular": [-0.5, 0.5]}}
SEA = axes(time=external("../axes/time"), lat=CELLS, lon=external("../axes/lon"))
TILE: Json = {"spatial:dimensions": ["y", "x"], "proj:code": "EPSG:32633"}
TILE |= {"spatial:transform": [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0]}
LAYOUT = [
    {"asset": "fine", "spatial:shape": [4, 6], "spatial:transform": TILE["spatial:transform"]},
    {"asset": "half", "derived_from": "fine", "transform": {"scale": [2.0, 2.0]}},
]

#: Nodes of a store that uses each convention, and has a problem.
SAMPLE: Nodes = {
    "": {},
    "axes": {},
    "axes/time": sized("time", 3, dtype="int64", units="days since 2000-01-01"),
    "pyramid": {
        **declaring("multiscales", "spatial", "proj", multiscales={"layout": LAYOUT}),
        **TILE,
    },
    "pyramid/fine": {},
    "pyramid/fine/red": sized("y x", 4, 6),
    "pyramid/half": {},
    "pyramid/half/red": sized("y x", 2, 3),
    "sea": declaring({"name": "radar"}, "NZ-1.0"),
    "sea/ice": sized("time lat", 3, 2, **axes(time=external("/axes/time"), lat=CELLS)),
    "sea/salinity": sized("time lat lon", 3, 2, 4, **SEA),
    "sea/temperature": sized("time lat lon", 3, 2, 4, **SEA),
    "swath": {},
    "swath/at": {},
    "swath/at/lat": sized("row column", 5, 6),
    "swath/at/lon": sized("row column", 5, 6),
    "swath/radiance": sized("row column", 5, 6, **located("../at/lon", "at/lat")),
    **{f"tile{n}": {**declaring("spatial", "proj"), **TILE} for n in (1, 2, 3)},
    **{f"tile{n}/red": sized("y x", 60 // n, 60) for n in (1, 2, 3)},
}


@cache
def sample() -> Explanation:
    """Return the explanation of the sample, with an additional reference to a foreign store."""
    mask = Place("/mask", store="https://example.org/masks.zarr")
    where = Place("/sea/ice", "/attributes/mask")
    foreign = FoundReference(where, f"{mask.store}|/mask", mask, arrays=("/sea/ice",))
    explanation = explain(store_of(SAMPLE))
    references = (*explanation.references, foreign)
    return replace(explanation, store="sample.zarr", references=references)


def array(path: str, *sizes: int, **facts: Any) -> FoundArray:
    dims = ("time", "lat", "lon")[: len(sizes)]
    return FoundArray(path, dims, sizes, "float32", **facts)


def of_groups(*groups: FoundGroup, **facts: Any) -> Explanation:
    """Return an explanation of groups."""
    return Explanation("memory://", "/", 3, is_consolidated=False, groups=groups, **facts)


def of_arrays(count: int, name: str = "a{}") -> Explanation:
    """Return an explanation of many similar arrays in one group."""
    return of_groups(FoundGroup("/", tuple(array(f"/{name.format(n)}", 3) for n in range(count))))


def of_scenes(count: int) -> Explanation:
    """Return similar groups that refer to a group of axes. The first scene has a problem and fewer arrays."""
    bands = {
        n: tuple(array(f"/scene_{n:03}/B{band:02}", 10, 10) for band in range(5 if n else 3))
        for n in reversed(range(count))
    }
    scenes = [FoundGroup(f"/scene_{n:03}", arrays) for n, arrays in sorted(bands.items())]
    axis, mask = Place("/axes/x"), Place("/mask", store="https://example.org/masks.zarr")
    references = [
        FoundReference(
            Place(band.path, f"/attributes/{name}"), name, target, name == "x", "", (band.path,)
        )
        for scene in scenes
        for band in scene.arrays
        for name, target in (("x", axis), ("mask", mask))
    ]
    axes = FoundGroup("/axes", (array("/axes/x", 10, is_coordinate=True),))
    problem = FoundProblem("problem", "no node /axes/z", None, ("/scene_000/B01",), "'z'")
    groups = (FoundGroup("/"), axes, *scenes)
    return of_groups(*groups, references=tuple(references), problems=(problem,))


def of_depth(depth: int) -> Explanation:
    """Return nested groups, each with an array."""
    paths = ["".join(f"/level{n}" for n in range(level)) for level in range(depth)]
    arrays = {path: (array(f"{path}/t", 3, missing=("lat",)),) for path in paths}
    return of_groups(*(FoundGroup(path or "/", members) for path, members in arrays.items()))


def hostile(*names: str) -> Explanation:
    """Return an explanation with names wherever it has text from a store."""
    groups, references, problems = [FoundGroup("/")], [], []
    for name in names:
        path, place = f"/{name}/{name}", Place(f"/{name}", name, name)
        found = FoundArray(
            path,
            (name,),
            (1,),
            name,
            conventions=(FoundConvention(name, "principal", name),),
            coordinates=(name, f"{name}2"),
            missing=(name,),
            crs=FoundCrs(name, name, name),
            times=name,
        )
        kinds: Any = ("own", "stored", "foreign", "computed", "inline", "given")
        coordinates = tuple(
            FoundCoordinate(
                f"{name}{kind}", (name,), kind, place, name, bounds=name, arrays=(path,)
            )
            for kind in kinds
        )
        all_names = tuple(coordinate.name for coordinate in coordinates)
        other = replace(found, path=f"{path}2", coordinates=all_names, crs=FoundCrs(name))
        group = FoundGroup(f"/{name}", (found, other), coordinates)
        groups += [group, replace(group, path=f"/{name}3")]
        here = structs.replace(place, store=None)
        references += [
            FoundReference(here, name, None, text=name, arrays=(path,)),
            FoundReference(here, name, place, by_fallback=True, text=name, arrays=(path,)),
        ]
        problems.append(FoundProblem(name, name, place, (path, name), name))
    whole = of_groups(*groups, references=tuple(references), problems=tuple(problems))
    return replace(whole, store=names[0], zarr_format=2)
