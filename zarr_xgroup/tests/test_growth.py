"""The work of opening, `explain` and `check` is about proportional to the size of a store.

The tests count calls of functions of the package, which are the same on every machine.
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
SMALLEST, SMALLEST_OF_ONE = 4, 24
#: How many arrays the smallest store of `OF_MANY` has.
SMALLEST_OF_MANY = 50
#: By which power of the size the work may grow.
MOST = 1.15

TRANSFORM = [10.0, 0.0, 0.0, 0.0, -10.0, 0.0]
SPATIAL = {
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": TRANSFORM,
    "spatial:shape": [2, 3],
}
PAIR = coordinate("x", [0.0, 1.0])


# Pieces of stores.

#: Gives the attributes of the array of a number.
Said: TypeAlias = Callable[[int], Json]


def named(n: int, of: Callable[[int], Array | Group | Json], name: str = "a") -> dict[str, Any]:
    """Return `n` members of a group, by names with numbers."""
    return {f"{name}{i}": of(i) for i in range(n)}


def words(n: int, name: str) -> str:
    return " ".join(f"{name}{i}" for i in range(n))


def on_x(attributes: Json) -> Array:
    return Array(np.zeros(2), ("x",), attributes)


def on_grid(attributes: Json) -> Array:
    return Array(np.zeros((2, 3)), ("y", "x"), attributes)


def rows(n: int, said: Said = lambda _i: {}, name: str = "a") -> dict[str, Any]:
    return named(n, lambda i: on_x(said(i)), name)


def grids(n: int, said: Said = lambda _i: {}, name: str = "a") -> dict[str, Any]:
    return named(n, lambda i: on_grid(said(i)), name)


def in_groups(n: int, members: Callable[[int], Any], name: str = "g") -> dict[str, Any]:
    return named(n, lambda i: Group(members(i)), name)


def cf(**attributes: Any) -> Json:
    return declaring("CF", **attributes)


def cs(*sets: Json) -> Json:
    """Return attributes of an array along x that declares its coordinates by ``cs``."""
    return of_axes({"x": {"coordinates": list(sets)}})


def of_axes(axes: Json) -> Json:
    return declaring("cs", cs={"crs": [{"axes": axes}]})


def external(path: str, **more: Any) -> Json:
    return {"values": {"external": {"node": path}}, **more}


def regular(start: int, **more: Any) -> Json:
    return {"values": {"regular": [start, 1]}, **more}


def scalar(i: int, name: str) -> Json:
    return of_axes({"x": {}, name: {"coordinates": [{"values": {"explicit": [i]}}]}})


def spatial(i: int) -> Json:
    """Return attributes of a grid of its own."""
    return declaring("spatial", **SPATIAL | {"spatial:transform": [i + 1, *TRANSFORM[1:]]})


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


def sharing(n: int, crs: Callable[[int], Json]) -> Group:
    """Return a group whose attributes have the CRSs of its arrays."""
    return Group(rows(n, shared), declaring("cs", crs={f"c{i}": crs(i) for i in range(n)}))


def next_of(i: int, n: int) -> Json:
    """Return a CRS that refers to the next one, or the last one."""
    there = {"ref": {"node": "", "attribute": f"/attributes/crs/c{i + 1}"}}
    return there if i + 1 < n else {"axes": {"x": {"coordinates": [regular(0)]}}}


def located(x: str, y: str, code: str = "EPSG:4326") -> Json:
    places = {"x": {"node": x}, "y": {"node": y}, "crs": {"proj:code": code}}
    return declaring(
        "geolocation", geolocation={"geodetic" if "4326" in code else "planar": places}
    )


def levels(n: int, item: Callable[[int], Json]) -> Group:
    """Return a pyramid of groups with one array each."""
    layout = {"layout": [item(i) for i in range(n)]}
    attributes = declaring("multiscales", "spatial", multiscales=layout, **SPATIAL)
    return Group(in_groups(n, lambda _i: {"v": on_grid({})}, "l"), attributes)


def derived(i: int) -> Json:
    """Return an item of a layout: the first one absolute, the others relative to the one before."""
    relative = {"derived_from": f"l{i - 1}", "transform": {"scale": [1.0, 1.0]}}
    return {"asset": f"l{i}", **(relative if i else SPATIAL)}


def formula(n: int) -> Group:
    terms = " ".join(f"t{i}: b{i}" for i in range(n))
    level = coordinate("x", [0.0, 1.0], formula_terms=terms, standard_name="ocean_s_coordinate")
    return Group({"a": on_x(cf()), "x": level, **rows(n, name="b")})


def nczarr(n: int) -> Group:
    def array(i: int) -> Json:
        return cf(_nczarr_array={"dimension_references": [f"/g{i}/x"]})

    return Group({**in_groups(n, lambda _i: {"x": PAIR}), "d": Group(rows(n, array))})


def days(i: int) -> Json:
    return cs(regular(0, time={"unit": "days", "epoch": f"{1900 + i}-01-01"}))


def nested_groups(n: int) -> Group:
    return Group({f"g{n}": nested_groups(n - 1)}) if n else Group({"v": on_grid({})})


def deep(n: int, attrs: Json) -> Nodes:
    """Return groups each of which is in the one before, with an array and attributes in each."""
    paths = ["/".join(["g"] * depth) for depth in range(1, n + 1)]
    arrays = {f"{path}/v": on_grid({}) for path in paths}
    return {"": Group(), **{path: Group(attrs=attrs) for path in paths}, **arrays}


def nested(n: int) -> Any:
    value: Any = 1
    for _level in range(n):
        value = {"a": [value]}
    return value


# Kinds of stores.

# fmt: off
KINDS: dict[str, Callable[[int], Group]] = {
    "arrays of own dimensions": lambda n: Group({**named(n, lambda i: Array(np.zeros(2), (f"x{i}",), cf())), **{f"x{i}": coordinate(f"x{i}", [0.0, 1.0]) for i in range(n)}}),
    "arrays without dimension names": lambda n: Group(named(n, lambda i: Array(np.zeros(i + 1), None))),
    "nested groups": nested_groups,
    "coordinates above": lambda n: Group({"t": on_x({}), **in_groups(n, lambda i: {"a": on_x(cf(coordinates="t", i=i))})}),
    "references to as many arrays": lambda n: Group({"o": Group(rows(n, name="t")), **rows(n, lambda i: cs(external(f"o/t{i}", name=f"t{i}")))}),
    "references to nothing of one name": lambda n: Group({**rows(n, lambda i: cs(external(f"no{i}/t"))), "o": Group(in_groups(n, lambda _i: {"t": on_x({})}, "a"))}),
    "references to references": lambda n: sharing(n, lambda i: next_of(i, n)),
    "CRSs of the group": lambda n: sharing(n, lambda i: {"axes": {"x": {"coordinates": [regular(i)]}}}),
    "coordinates of each array": lambda n: Group({**rows(n, name="t"), "a": on_x(cf(coordinates=words(n, "t")))}),
    # Found by going down from the apex of their dimension.
    "coordinates in the group of the apex": lambda n: Group({"x": PAIR, "d": Group({"a": on_x(cf(coordinates=words(n, "c")))}), **in_groups(n, lambda i: {f"c{i}": on_x({})})}),
    "bounds": lambda n: Group({**named(n, lambda i: Array(np.zeros(2), (f"x{i}",), cf())), **{f"x{i}": coordinate(f"x{i}", [0.0, 1.0], bounds=f"b{i}") for i in range(n)}, **named(n, lambda i: Array(np.zeros((2, 2)), (f"x{i}", "v")), "b")}),
    "formula terms": formula,
    "scalar axes of own names": lambda n: Group(rows(n, lambda i: scalar(i, f"s{i}"))),
    "values of one dimension that differ": lambda n: Group(rows(n, lambda i: cs(regular(i)))),
    "sizes of one dimension": lambda n: Group(named(n, lambda i: Array(np.zeros(i + 1), ("x",), cf()))),
    "CRSs without a code": lambda n: Group(grids(n, lambda i: declaring("spatial", "proj", **SPATIAL, **{"proj:wkt2": wkt(i)}))),
    # Arrays that each give another CRS than the one grid mapping that they name.
    "CRSs with a spatial_ref": lambda n: Group({"spatial_ref": stored(np.int32(0), crs_wkt=wkt(0)), **grids(n, lambda i: declaring("proj", **{"proj:wkt2": wkt(i)}))}),
    "CRSs of geolocation arrays": lambda n: Group({**grids(n, name="lon"), **grids(n, name="lat"), **grids(n, lambda i: located(f"lon{i}", f"lat{i}", utm(i)))}),
    "geolocation arrays of no grid": lambda n: Group({"lon": on_grid({}), "lat": on_grid({}), **named(n, lambda i: Array(np.zeros((2, 4 + i)), ("y", f"d{i}")))}, located("lon", "lat")),
    "items of a layout that cannot be resolved": lambda n: levels(n, lambda i: {"asset": f"no{i}"}),
    "levels of one another": lambda n: levels(n, derived),
    "names that collide": lambda n: Group({**in_groups(n, lambda _i: {"t": on_x({})}), "o": Group(rows(n, lambda i: cs(external(f"../g{i}/t", name="t"))))}),
    "times": lambda n: Group(rows(n, days)),
    "dimensions that NCZarr names": nczarr,
    "groups of other values than another": lambda n: Group({"x": PAIR, **in_groups(n, lambda i: {"x": coordinate("x", [0.0, 2.0 + i]), "a": on_x(cf())})}),
    "as many mistakes": lambda n: Group(rows(n, lambda i: of_axes({f"z{i}": {"coordinates": f"none {i}"}}))),
    "documents that are wrong": lambda n: Group(named(n, lambda _i: Array(np.zeros(2), ("x",), v2={"fill_value": {"a": 1}}, v3={"storage_transformers": [{"name": "unknown"}]}))),
}
#: Those with so many arrays that comparing each with all others shows.
OF_MANY: dict[str, Callable[[int], Group]] = {
    "arrays without any convention": lambda n: Group(grids(n, lambda i: {"i": i})),
    "hints": lambda n: Group(grids(n, lambda i: {**SPATIAL, "i": i})),
}
#: Those where all is in one array.
OF_ONE: dict[str, Callable[[int], Group]] = {
    "references of one array to nothing": lambda n: Group({"a": on_x(cs(*(external(f"nothing{i}", name=f"s{i}") for i in range(n))))}),
    "coordinates that are not there": lambda n: Group({"a": on_x(cf(coordinates=words(n, "t")))}),
    "sets of an axis": lambda n: Group({"a": on_x(cs(*(regular(i, name=f"s{i}") for i in range(n))))}),
    "inline values that are wrong": lambda n: Group({"a": Array(np.zeros(n), ("x",), cs({"values": {"explicit": [{}] * n}}))}),
    "names that collide at once": lambda n: Group({"a": on_x(cs(*(regular(i, name="t") for i in range(n))))}),
    "deep attributes": lambda n: Group({"a": on_x(cf(k=nested(n)))}),
    "conventions that are wrong": lambda n: Group({"a": on_x({"zarr_conventions": [{"name": i} for i in range(n)]})}),
}
# fmt: on


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


def opened_with_auto(store: Any) -> None:
    zarr_xgroup.XGroupBackendEntrypoint().open_datatree(store, assume_conventions="auto")


WAYS = (opened, explained, checked)


def calls_of(way: Callable[[Any], Any], store: Any) -> int:
    with counting() as calls:
        quietly(way, store)
    return calls.count


def growth(counts: Sequence[int]) -> float:
    """Return by which power of the size calls grow, of stores each twice as large as the one before.

    What is the same for all sizes does not count.
    """
    one, two, four = counts
    return math.log2(max(four - two, 1) / max(two - one, 1))


def assert_grows_as(stores: Sequence[Any], ways: Sequence[Callable[[Any], None]]) -> None:
    """Assert that what is done with stores, each twice as large as the one before, grows about as they do."""
    for way in ways:
        quietly(way, stores[0])  # what is worked out once for all stores
        counts = [calls_of(way, store) for store in stores]
        assert growth(counts) < MOST, (way.__name__, counts)


@pytest.mark.parametrize(
    ("number", "kind"),
    [pytest.param(i, kind, id=kind) for i, kind in enumerate(KINDS | OF_ONE | OF_MANY)],
)
def test_work_grows_about_as_the_store_does(number: int, kind: str) -> None:
    zarr_format: ZarrFormat = 3 if number % 2 else 2
    smallest = SMALLEST_OF_ONE if kind in OF_ONE else SMALLEST
    smallest = SMALLEST_OF_MANY if kind in OF_MANY else smallest
    make = (KINDS | OF_ONE | OF_MANY)[kind]
    contents = [build(make(smallest * times), zarr_format) for times in (1, 2, 4)]
    if number % 4 > 1:
        contents = [consolidate(it, zarr_format=zarr_format) for it in contents]
    ways = (*WAYS, opened_with_auto) if kind in OF_MANY else WAYS
    assert_grows_as([memory_store(it) for it in contents], ways)


def test_opening_and_explaining_grow_about_as_the_depth_of_groups_that_declare() -> None:
    depths = [SMALLEST_OF_ONE * times for times in (1, 2, 4)]
    nodes = [deep(depth, declaring("spatial", **SPATIAL)) for depth in depths]
    stores = [memory_store(build(each, consolidated=True)) for each in nodes]
    assert_grows_as(stores, (opened, explained))


def test_work_grows_about_as_the_number_of_other_stores(tmp_path: Path) -> None:
    def referring(i: int) -> Json:
        there = {"node": "/t", "uri": (tmp_path / f"{i}.zarr").as_uri()}
        return cs({"values": {"external": there}, "name": f"t{i}"})

    sizes = (SMALLEST, 2 * SMALLEST, 4 * SMALLEST)
    for i in range(sizes[-1]):
        write_store(tmp_path / f"{i}.zarr", Group({"t": on_x({})}))
    stores = [write_store(tmp_path / f"all{n}.zarr", Group(rows(n, referring))) for n in sizes]
    assert_grows_as(stores, WAYS)


def test_growth_with_pairs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "TESTS", "nowhere")
    MONITORING.restart_events()

    def compared(n: int) -> int:
        return sum(1 for _one in range(n) for _other in range(n))

    assert growth([calls_of(compared, n) for n in (10, 20, 40)]) > 1.9
    assert growth([n + 1000 for n in (10, 20, 40)]) == 1
