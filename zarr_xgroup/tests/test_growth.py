"""How the work of an open, an explanation and a check grows with a store: about as the store does.

What is counted are calls of functions of the package, which are the same on every machine.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias

import numpy as np
import pytest
import xarray as xr
from zarr.abc.store import Store

import zarr_xgroup
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    Nodes,
    ZarrFormat,
    build,
    consolidate,
    coordinate,
    declaring,
    memory_store,
    quietly,
    stored,
    write_store,
)

MONITORING: Any = getattr(sys, "monitoring", None)
#: One of the numbers that are no known tool's.
TOOL = 4
pytestmark = pytest.mark.skipif(MONITORING is None, reason="Python counts calls since 3.12")

PACKAGE = str(Path(zarr_xgroup.__file__).parent)
TESTS = str(Path(__file__).parent)

#: How many things the smallest store has, and how many if all are in one array.
SMALLEST, SMALLEST_OF_ONE = 6, 40
#: By which power of the size the work may grow.
MOST = 1.15

WGS84 = {"proj:code": "EPSG:4326"}
ROWS = np.zeros(2)
GRID = np.zeros((2, 3))
TRANSFORM = [10.0, 0.0, 0.0, 0.0, -10.0, 0.0]


# Pieces of stores.


def named(n: int, of: Callable[[int], Array | Group | Json], name: str = "a") -> dict[str, Any]:
    """Return `n` members of a group, by names with numbers."""
    return {f"{name}{i}": of(i) for i in range(n)}


def cs(axes: Json, **more: Any) -> Json:
    """Return attributes of an array that declares its axes by ``cs``."""
    return declaring("cs", cs={"crs": [{"axes": axes, **more}]})


def external(path: str, **more: Any) -> Json:
    return {"values": {"external": {"node": path}}, **more}


def along(*sets: Json) -> Json:
    return {"x": {"coordinates": list(sets)}}


def on_x(attributes: Json) -> Array:
    return Array(ROWS, ("x",), attributes)


def on_grid(attributes: Json) -> Array:
    return Array(GRID, ("y", "x"), attributes)


#: Gives the attributes of the array of a number.
Said: TypeAlias = Callable[[int], Json]


def nothing(_i: int) -> Json:
    return {}


def rows(n: int, said: Said = nothing, name: str = "a") -> dict[str, Any]:
    return named(n, lambda i: on_x(said(i)), name)


def grids(n: int, said: Said = nothing, name: str = "a") -> dict[str, Any]:
    return named(n, lambda i: on_grid(said(i)), name)


def words(n: int, name: str) -> str:
    return " ".join(f"{name}{i}" for i in range(n))


def spatial(transform: Any = TRANSFORM, **more: Any) -> Json:
    return {
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": list(transform),
        "spatial:shape": [2, 3],
        **more,
    }


def below(path: str, members: Nodes, attributes: Json | None = None) -> Nodes:
    """Return a group with members, all by path, and the groups above it."""
    parts = path.split("/")
    above = {"/".join(parts[:i]): Group() for i in range(len(parts))}
    return {
        **above,
        path: Group(attrs=attributes or {}),
        **{f"{path}/{name}": it for name, it in members.items()},
    }


def deep(n: int) -> str:
    """Return the path of a group that is nested."""
    return "/".join(f"g{i}" for i in range(n))


def in_groups(n: int, name: str = "g") -> dict[str, Any]:
    """Return groups with one array each."""
    return named(n, lambda _i: Group({"v": on_grid({})}), name)


def levels(n: int, item: Callable[[int], Json]) -> Group:
    """Return a pyramid of groups with one array each."""
    attributes = declaring(
        "multiscales", "spatial", multiscales={"layout": [item(i) for i in range(n)]}
    )
    return Group(in_groups(n, "l"), {**attributes, **spatial()})


def wkt(i: int) -> str:
    """Return a system that no authority has."""
    datum = f'DATUM["mine {i}",SPHEROID["mine",{6378000 + i},298.25]]'
    units = 'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]'
    return f'GEOGCS["mine {i}",{datum},{units}]'


def utm(i: int) -> str:
    return f"EPSG:{32601 + i % 60 + 100 * (i // 60 % 2)}"


def shared(i: int) -> Json:
    """Return attributes of an array that refers to a CRS of its group."""
    return declaring("cs", cs={"crs": [{"node": "", "attribute": f"/attributes/crs/c{i}"}]})


def chain_of_references(n: int) -> Group:
    """Return a group whose shared CRSs refer to one another, and arrays that refer to each."""
    crs: Json = {
        f"c{i}": {"ref": {"node": "", "attribute": f"/attributes/crs/c{i + 1}"}} for i in range(n)
    }
    crs[f"c{n - 1}"] = {"axes": along({"values": {"regular": [0, 1]}})}
    return Group(rows(n, shared), declaring("cs", crs=crs))


def gridded(key: str, crs: Callable[[int], str]) -> Said:
    """Return what says of each array its grid and its CRS."""
    return lambda i: declaring("spatial", "proj", **spatial(), **{key: crs(i)})


def geolocation(x: str, y: str) -> Json:
    return {"geodetic": {"x": {"node": x}, "y": {"node": y}, "crs": WGS84}}


def cf(**attributes: Any) -> Json:
    return declaring("CF", **attributes)


def nested(n: int) -> Any:
    value: Any = 1
    for _level in range(n):
        value = {"a": [value]}
    return value


# Kinds of stores.


def _own_dimensions(n: int) -> Group:
    arrays = named(n, lambda i: Array(ROWS, (f"x{i}",), cf()))
    return Group({**arrays, **{f"x{i}": coordinate(f"x{i}", [0.0, 1.0]) for i in range(n)}})


def _formula(n: int) -> Group:
    terms = " ".join(f"t{i}: b{i}" for i in range(n))
    level = coordinate("x", [0.0, 1.0], formula_terms=terms, standard_name="ocean_s_coordinate")
    return Group({"a": on_x(cf()), "x": level, **rows(n, name="b")})


def _parametric(n: int) -> Group:
    terms = {f"t{i}": {"external": {"node": f"b{i}"}} for i in range(n)}
    of_set = {
        "values": {"regular": [0, 1]},
        "parametric": {"formula": "ocean_s_coordinate", "terms": terms},
    }
    return Group({"a": on_x(cs(along(of_set))), **rows(n, name="b")})


def _lateral(n: int) -> Group:
    """Coordinates that are found by going down from the apex of their dimension."""
    groups = named(n, lambda i: Group({f"c{i}": on_x({})}), "g")
    attributes = cf(coordinates=words(n, "c"))
    return Group({"x": coordinate("x", [0.0, 1.0]), "d": Group({"a": on_x(attributes)}), **groups})


def _nczarr(n: int) -> Nodes:
    def array(i: int) -> Array:
        attributes = {"_nczarr_array": {"dimension_references": [f"/g{i}/x"]}}
        return Array(ROWS, ("x",), cf(**attributes))

    groups = named(n, lambda _i: Group({"x": coordinate("x", [0.0, 1.0])}), "g")
    return {"": Group({**groups, "d": Group(named(n, array))})}


def _conflicting_with_parent(n: int) -> Group:
    child = Group({"a": Array(np.zeros(5), ("x",))})
    return Group({"x": coordinate("x", [0.0, 1.0]), **named(n, lambda _i: child, "g")})


def _conflicting_values(n: int) -> Group:
    """Return groups whose coordinates differ from those of the group above."""

    def child(i: int) -> Group:
        return Group({"x": coordinate("x", [0.0, 2.0 + i]), "a": on_x(cf())})

    return Group({"x": coordinate("x", [0.0, 1.0]), **named(n, child, "g")})


def _inherited(n: int) -> Group:
    array = Array(GRID, ("/y", "/x"), cf())
    axes = {"x": coordinate("x", np.arange(3.0)), "y": coordinate("y", np.arange(2.0))}
    return Group({**axes, **named(n, lambda _i: Group({"a": array}), "g")})


def _derived(i: int, source: int, scale: float) -> Json:
    """Return an item of a layout: the first one absolute, the others relative to another one."""
    relative = {"derived_from": f"l{source}", "transform": {"scale": [scale, scale]}}
    return {"asset": f"l{i}", **(relative if i else spatial())}


def _tiles(n: int) -> Group:
    matrices = [
        {
            "id": f"l{i}",
            "scaleDenominator": 1000.0 * (i + 1),
            "cellSize": 10.0 * (i + 1),
            "pointOfOrigin": [0.0, 0.0],
            "tileWidth": 3,
            "tileHeight": 2,
            "matrixWidth": 1,
            "matrixHeight": 1,
        }
        for i in range(n)
    ]
    tile_set = {"id": "mine", "crs": "EPSG:3857", "tileMatrices": matrices}
    return Group(in_groups(n, "l"), {"multiscales": {"tile_matrix_set": tile_set}})


def _stac(i: int) -> Array:
    attributes = {"proj:epsg": 32633, "proj:transform": [10 + i, 0, 0, 0, -10, 0, 0, 0, 1]}
    return on_grid({**attributes, "proj:shape": [2, 3]})


def _broken(_i: int) -> Array:
    """Return an array that zarr cannot open."""
    unknown = {"storage_transformers": [{"name": "unknown"}]}
    return Array(ROWS, ("x",), v2={"fill_value": {"a": 1}}, v3=unknown)


def _uncomparable(n: int) -> Group:
    """Return arrays that each give another CRS than the one grid mapping that they name."""
    mapping = Array(np.int32(0), (), {"crs_wkt": wkt(0)})
    crss = grids(n, lambda i: declaring("spatial", **spatial(), **{"proj:wkt2": wkt(i)}))
    return Group({"spatial_ref": mapping, **crss})


def _axes_of_one(n: int, values: Json) -> Group:
    axes = {f"s{i}": {"coordinates": [{"values": values}]} for i in range(n)}
    return Group({"a": on_x(cs({"x": {}, **axes}))})


def _located(n: int, said: Said) -> Group:
    """Return arrays, each with geolocation arrays of its own."""
    places = {**grids(n, name="lon"), **grids(n, name="lat")}
    return Group({**places, **grids(n, lambda i: declaring("geolocation", geolocation=said(i)))})


def _planar(i: int) -> Json:
    arrays = {"x": {"node": f"lon{i}"}, "y": {"node": f"lat{i}"}}
    return {"planar": {**arrays, "crs": {"proj:code": utm(i)}}}


def _days(i: int) -> Json:
    time = {"unit": "days", "epoch": f"{1900 + i}-01-01"}
    return cs(along({"time": time, "values": {"regular": [0, 1]}}))


def _regular(i: int) -> Json:
    return {"values": {"regular": [i, 1]}}


def _scalar(i: int, name: str) -> Json:
    return cs({"x": {}, name: {"coordinates": [{"values": {"explicit": [i]}}]}})


KINDS: dict[str, Callable[[int], Group | Nodes]] = {
    "arrays": lambda n: Group(grids(n)),
    "arrays of own dimensions": _own_dimensions,
    "arrays without dimension names": lambda n: Group(
        named(n, lambda i: Array(np.zeros(i + 1), None))
    ),
    "grids without dimension names": lambda n: Group(
        named(
            n, lambda i: Array(GRID, None, declaring("spatial", **spatial([i + 1, *TRANSFORM[1:]])))
        )
    ),
    "groups": lambda n: Group(in_groups(n)),
    "nested groups": lambda n: below(deep(n), {"v": on_grid({})}),
    "coordinates above": lambda n: Group(
        {"t": on_x({}), **named(n, lambda i: Group({"a": on_x(cf(coordinates="t", i=i))}), "g")}
    ),
    "references to one array": lambda n: Group(
        {"t": on_x({}), **rows(n, lambda i: cs(along(external("t", unit=f"m{i}"))))}
    ),
    "references to as many arrays": lambda n: Group(
        {
            "o": Group(rows(n, name="t")),
            **rows(n, lambda i: cs(along(external(f"o/t{i}", name=f"t{i}")))),
        }
    ),
    "references to nothing": lambda n: Group(rows(n, lambda i: cs(along(external(f"nothing{i}"))))),
    "references to nothing of one name": lambda n: Group(
        {
            **rows(n, lambda i: cs(along(external(f"no{i}/t")))),
            "o": Group(named(n, lambda _i: Group({"t": on_x({})}))),
        }
    ),
    "references of one array to nothing": lambda n: Group(
        {"a": on_x(cs(along(*(external(f"nothing{i}", name=f"s{i}") for i in range(n)))))}
    ),
    "references to references": chain_of_references,
    "CRSs of the group": lambda n: Group(
        rows(n, shared),
        declaring("cs", crs={f"c{i}": {"axes": along(_regular(i))} for i in range(n)}),
    ),
    "coordinates of each array": lambda n: Group(
        {**rows(n, name="t"), "a": on_x(cf(coordinates=words(n, "t")))}
    ),
    "coordinates that are not there": lambda n: Group({"a": on_x(cf(coordinates=words(n, "t")))}),
    "coordinates of an own name for each array": lambda n: Group(
        {**rows(n, name="t"), **rows(n, lambda i: cf(coordinates=f"t{i}"))}
    ),
    "coordinates beside the apex": _lateral,
    "ancillary variables": lambda n: Group(
        {"a": on_x(cf(ancillary_variables=words(n, "b"))), **rows(n, name="b")}
    ),
    "bounds": lambda n: Group(
        {
            **named(n, lambda i: Array(ROWS, (f"x{i}",), cf())),
            **{f"x{i}": coordinate(f"x{i}", [0.0, 1.0], bounds=f"b{i}") for i in range(n)},
            **named(n, lambda i: Array(np.zeros((2, 2)), (f"x{i}", "v")), "b"),
        }
    ),
    "boundaries": lambda n: Group(
        rows(n, lambda i: cs(along({**_regular(i), "boundaries": {"regular": [-0.5, 0.5]}})))
    ),
    "formula terms": _formula,
    "formula terms that no formula has": lambda n: Group(
        named(n, lambda i: on_x(cf(formula_terms=f"a: a{i}", flag_values=[i, i + 1])))
    ),
    "parametric terms": _parametric,
    "sets of an axis": lambda n: Group(
        {"a": on_x(cs(along(*({"name": f"s{i}", **_regular(i)} for i in range(n)))))}
    ),
    "scalar axes": lambda n: Group(rows(n, lambda i: _scalar(i, "s"))),
    "scalar axes of own names": lambda n: Group(rows(n, lambda i: _scalar(i, f"s{i}"))),
    "scalar axes of one array": lambda n: _axes_of_one(n, {"explicit": [1]}),
    "inline values": lambda n: Group(
        {"a": Array(np.zeros(n), ("x",), cs(along({"values": {"explicit": list(range(n))}})))}
    ),
    "inline values that are wrong": lambda n: Group(
        {"a": Array(np.zeros(n), ("x",), cs(along({"values": {"explicit": [{}] * n}})))}
    ),
    "values beside an own coordinate": lambda n: Group(
        {
            "x": coordinate("x", [0.0, 1.0]),
            **rows(n, lambda i: cs(along({"values": {"explicit": [i, i + 1]}}))),
        }
    ),
    "values of one dimension that differ": lambda n: Group(
        rows(n, lambda i: cs(along(_regular(i))))
    ),
    "sizes of one dimension": lambda n: Group(
        named(n, lambda i: Array(np.zeros(i + 1), ("x",), cf()))
    ),
    "codes of CRSs": lambda n: Group(grids(n, gridded("proj:code", utm))),
    "CRSs without a code": lambda n: Group(grids(n, gridded("proj:wkt2", wkt))),
    "CRSs that are not understood": lambda n: Group(
        grids(n, gridded("proj:code", lambda i: f"mine:{i}"))
    ),
    "CRSs beside spatial_ref": _uncomparable,
    "CRSs of geolocation arrays": lambda n: _located(n, _planar),
    "grid mappings": lambda n: Group(
        {
            **grids(n, lambda i: cf(grid_mapping=f"crs{i}")),
            **named(n, lambda i: stored(np.int32(0), "", crs_wkt=wkt(i)), "crs"),
        }
    ),
    "geolocation arrays of each": lambda n: _located(
        n, lambda i: geolocation(f"lon{i}", f"lat{i}")
    ),
    "geolocation arrays of all": lambda n: Group(
        {"lon": on_grid({}), "lat": on_grid({}), **grids(n)},
        declaring("geolocation", geolocation=geolocation("lon", "lat")),
    ),
    "geolocation arrays of no grid": lambda n: Group(
        {
            **{name: on_grid({}) for name in ("lon", "lat")},
            **named(n, lambda i: Array(np.zeros((2, 4 + i)), ("y", f"d{i}"))),
        },
        declaring("geolocation", geolocation=geolocation("lon", "lat")),
    ),
    "transforms": lambda n: Group(
        grids(n, lambda i: declaring("spatial", **spatial([10.0 + i, *TRANSFORM[1:]])))
    ),
    "a transform of all": lambda n: Group(
        grids(n), declaring("spatial", "proj", **spatial(), **WGS84)
    ),
    "items of a layout": lambda n: levels(n, lambda i: {"asset": f"l{i}", **spatial()}),
    "items of a layout that lead nowhere": lambda n: levels(n, lambda i: {"asset": f"no{i}"}),
    "levels of one": lambda n: levels(n, lambda i: _derived(i, 0, 2.0)),
    "levels of one another": lambda n: levels(n, lambda i: _derived(i, i - 1, 1.0)),
    "tile matrices": _tiles,
    "STAC": lambda n: Group(named(n, _stac)),
    "names that collide": lambda n: Group(
        {
            **named(n, lambda _i: Group({"t": on_x({})}), "g"),
            "o": Group(rows(n, lambda i: cs(along(external(f"../g{i}/t", name="t"))))),
        }
    ),
    "names that collide at once": lambda n: Group(
        {"a": on_x(cs(along(*({"name": "t", **_regular(i)} for i in range(n)))))}
    ),
    "units": lambda n: Group(rows(n, lambda i: declaring("uom", uom={"ucum": {"unit": f"m{i}"}}))),
    "times": lambda n: Group(rows(n, _days)),
    "dimensions of groups above": _inherited,
    "dimensions that NCZarr names": _nczarr,
    "groups that do not fit below another": _conflicting_with_parent,
    "groups of other values than another": _conflicting_values,
    "attributes": lambda n: Group({"a": on_x(cf(**{f"k{i}": i for i in range(n)}))}),
    "deep attributes": lambda n: Group({"a": on_x(cf(k=nested(n)))}),
    "conventions": lambda n: Group(
        {"a": on_x(declaring(*({"name": f"mine{i}", "uuid": f"{i:032}"} for i in range(n))))}
    ),
    "conventions that are wrong": lambda n: Group(
        {"a": on_x({"zarr_conventions": [{"name": i} for i in range(n)]})}
    ),
    "one mistake": lambda n: Group(rows(n, lambda _i: declaring("cs", cs=7))),
    "as many mistakes": lambda n: Group(
        rows(n, lambda i: cs({f"z{i}": {"coordinates": f"none {i}"}}))
    ),
    "documents that are wrong": lambda n: Group(named(n, _broken)),
    "hints": lambda n: Group(grids(n, lambda i: {**spatial(), "i": i})),
    "strings": lambda n: Group(rows(n, lambda i: {"long_name": "x" * (1000 + i)})),
    "coordinates above of one array": lambda n: Group(
        {**rows(n, name="t"), "g": Group({"a": on_x(cf(coordinates=words(n, "t")))})}
    ),
}


#: Those where all is in one array.
OF_ONE = frozenset(
    {
        "references of one array to nothing",
        "coordinates above of one array",
        "coordinates that are not there",
        "sets of an axis",
        "scalar axes of one array",
        "inline values",
        "inline values that are wrong",
        "names that collide at once",
        "attributes",
        "deep attributes",
        "conventions",
        "conventions that are wrong",
    }
)


# Counting.


class _Calls:
    """Counts calls of the package's functions and what their generators yield, in all threads."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, code: CodeType, *_event: object) -> Any:
        file = code.co_filename
        if not file.startswith(PACKAGE) or file.startswith(TESTS):
            return MONITORING.DISABLE
        self.count += 1
        return None


@contextmanager
def counting() -> Iterator[_Calls]:
    """Count what is called within."""
    calls, events = _Calls(), MONITORING.events
    MONITORING.use_tool_id(TOOL, "growth")
    for event in (events.PY_START, events.PY_RESUME):
        MONITORING.register_callback(TOOL, event, calls)
    MONITORING.set_events(TOOL, events.PY_START | events.PY_RESUME)
    try:
        yield calls
    finally:
        MONITORING.set_events(TOOL, 0)
        MONITORING.free_tool_id(TOOL)


def opened(store: Any) -> None:
    # What xarray does with a tree is its own, and most of the time.
    zarr_xgroup.XGroupBackendEntrypoint().open_datatree(store)


def explained(store: Any) -> None:
    # As text, which is folded: each array of an explanation lists its coordinates and each of these its
    # arrays, so that as JSON it may be as long as the two lengths multiplied.
    str(zarr_xgroup.explain(store))


def checked(store: Any) -> None:
    str(zarr_xgroup.check(store))


WAYS = {"open": opened, "explain": explained, "check": checked}


def calls_of(way: Callable[[Any], None], store: Any) -> int:
    with counting() as calls:
        quietly(way, store)
    return calls.count


def growth(counts: Sequence[int]) -> float:
    """Return by which power of the size calls grow, of stores each twice as large as the one before.

    What is the same for all sizes does not count.
    """
    one, two, four = counts
    return math.log2(max(four - two, 1) / max(two - one, 1))


def stores_of(kind: Callable[[int], Group | Nodes], form: str, smallest: int) -> list[Store]:
    zarr_format: ZarrFormat = 2 if form.startswith("v2") else 3
    contents = [build(kind(smallest * times), zarr_format) for times in (1, 2, 4)]
    if form.endswith("consolidated"):
        contents = [consolidate(it, zarr_format=zarr_format) for it in contents]
    return [memory_store(it) for it in contents]


FORMS = ("v3", "v2", "v3 consolidated", "v2 consolidated")


@pytest.mark.parametrize(
    ("kind", "form"),
    [pytest.param(kind, FORMS[i % 4], id=kind) for i, kind in enumerate(KINDS)],
)
def test_work_grows_about_as_the_store_does(kind: str, form: str) -> None:
    stores = stores_of(KINDS[kind], form, SMALLEST_OF_ONE if kind in OF_ONE else SMALLEST)
    for way in WAYS.values():
        quietly(way, stores[0])  # what is worked out once for all stores
        counts = [calls_of(way, store) for store in stores]
        assert growth(counts) < MOST, (way.__name__, counts)


def test_work_grows_about_as_the_number_of_other_stores(tmp_path: Path) -> None:
    def referring(i: int) -> Array:
        uri = (tmp_path / f"{i}.zarr").as_uri()
        return on_x(
            cs(along({"values": {"external": {"node": "/t", "uri": uri}}, "name": f"t{i}"}))
        )

    sizes = (SMALLEST, 2 * SMALLEST, 4 * SMALLEST)
    for i in range(sizes[-1]):
        write_store(tmp_path / f"{i}.zarr", Group({"t": on_x({})}))
    stores = [write_store(tmp_path / f"all{n}.zarr", Group(named(n, referring))) for n in sizes]
    assert len(quietly(xr.open_dataset, stores[0], engine="xgroup").coords) == SMALLEST
    for way in WAYS.values():
        quietly(way, stores[0])
        counts = [calls_of(way, store) for store in stores]
        assert growth(counts) < MOST, (way.__name__, counts)


def _compared(n: int) -> int:
    return sum(1 for _one in range(n) for _other in range(n))


def test_growth_of_work_in_pairs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "TESTS", "nowhere")
    MONITORING.restart_events()
    counts = []
    for n in (10, 20, 40):
        with counting() as calls:
            _compared(n)
        counts.append(calls.count)
    assert growth(counts) > 1.9
    assert growth([n + 1000 for n in (10, 20, 40)]) == 1
