"""How the work of an open, an explanation and a check grows with a store: about as the store does.

What is counted are calls of functions of the package, which are the same on every machine.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
import xarray as xr
from zarr.abc.store import Store
from zarr.core.sync import sync

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


def levels(n: int, item: Callable[[int], Json]) -> Group:
    """Return a pyramid of groups with one array each."""
    attributes = declaring(
        "multiscales", "spatial", multiscales={"layout": [item(i) for i in range(n)]}
    )
    return Group(named(n, lambda _i: Group({"v": on_grid({})}), "l"), {**attributes, **spatial()})


def wkt(i: int) -> str:
    """Return a system that no authority has."""
    datum = f'DATUM["mine {i}",SPHEROID["mine",{6378000 + i},298.25]]'
    units = 'PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]'
    return f'GEOGCS["mine {i}",{datum},{units}]'


def utm(i: int) -> str:
    return f"EPSG:{32601 + i % 60 + 100 * (i // 60 % 2)}"


def chain_of_references(n: int) -> Group:
    """Return a group whose shared CRSs refer to one another, and arrays that refer to each."""
    last = {"axes": along({"values": {"regular": [0, 1]}})}
    systems = {
        f"c{i}": {"ref": {"node": "", "attribute": f"/attributes/crs/c{i + 1}"}}
        for i in range(n - 1)
    }
    arrays = named(
        n,
        lambda i: on_x(
            declaring("cs", cs={"crs": [{"node": "", "attribute": f"/attributes/crs/c{i}"}]})
        ),
    )
    return Group(arrays, declaring("cs", crs={**systems, f"c{n - 1}": last}))


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


def _many_arrays(n: int, attributes: Json | None = None) -> Group:
    return Group(named(n, lambda _i: on_grid(attributes or {})))


def _own_dimensions(n: int) -> Group:
    arrays = named(n, lambda i: Array(ROWS, (f"x{i}",), cf()))
    return Group({**arrays, **{f"x{i}": coordinate(f"x{i}", [0.0, 1.0]) for i in range(n)}})


def _formula(n: int) -> Group:
    words = " ".join(f"t{i}: b{i}" for i in range(n))
    level = coordinate("x", [0.0, 1.0], formula_terms=words, standard_name="ocean_s_coordinate")
    return Group({"a": on_x(cf()), "x": level, **named(n, lambda _i: on_x({}), "b")})


def _parametric(n: int) -> Group:
    terms = {f"t{i}": {"external": {"node": f"b{i}"}} for i in range(n)}
    of_set = {
        "values": {"regular": [0, 1]},
        "parametric": {"formula": "ocean_s_coordinate", "terms": terms},
    }
    return Group({"a": on_x(cs(along(of_set))), **named(n, lambda _i: on_x({}), "b")})


def _lateral(n: int) -> Group:
    """Coordinates that are found by going down from the apex of their dimension."""
    groups = named(n, lambda i: Group({f"c{i}": on_x({})}), "g")
    attributes = cf(coordinates=" ".join(f"c{i}" for i in range(n)))
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
    groups = named(n, lambda _i: Group({"v": on_grid({})}), "l")
    return Group(groups, {"multiscales": {"tile_matrix_set": tile_set}})


def _stac(i: int) -> Array:
    attributes = {"proj:epsg": 32633, "proj:transform": [10 + i, 0, 0, 0, -10, 0, 0, 0, 1]}
    return on_grid({**attributes, "proj:shape": [2, 3]})


def _uncomparable(n: int) -> Group:
    """Return arrays that each give another CRS than the one grid mapping that they name."""
    mapping = Array(np.int32(0), (), {"crs_wkt": wkt(0)})
    arrays = named(n, lambda i: on_grid(declaring("spatial", **spatial(), **{"proj:wkt2": wkt(i)})))
    return Group({"spatial_ref": mapping, **arrays})


def _axes_of_one(n: int, values: Json) -> Group:
    axes = {f"s{i}": {"coordinates": [{"values": values}]} for i in range(n)}
    return Group({"a": on_x(cs({"x": {}, **axes}))})


KINDS: dict[str, Callable[[int], Group | Nodes]] = {
    "arrays": _many_arrays,
    "arrays of own dimensions": _own_dimensions,
    "arrays without dimension names": lambda n: Group(
        named(n, lambda i: Array(np.zeros(i + 1), None))
    ),
    "groups": lambda n: Group(named(n, lambda _i: Group({"v": on_grid({})}), "g")),
    "nested groups": lambda n: below(deep(n), {"v": on_grid({})}),
    "coordinates above": lambda n: Group(
        {
            "t": on_x({}),
            **named(n, lambda i: Group({"a": on_x(cf(coordinates="t", i=i))}), "g"),
        }
    ),
    "references to one array": lambda n: Group(
        {"t": on_x({}), **named(n, lambda i: on_x(cs(along(external("t", unit=f"m{i}")))))}
    ),
    "references to as many arrays": lambda n: Group(
        {
            "o": Group(named(n, lambda _i: on_x({}), "t")),
            **named(n, lambda i: on_x(cs(along(external(f"o/t{i}", name=f"t{i}"))))),
        }
    ),
    "references to nothing": lambda n: Group(
        named(n, lambda i: on_x(cs(along(external(f"nothing{i}")))))
    ),
    "references to nothing of one name": lambda n: Group(
        {
            **named(n, lambda i: on_x(cs(along(external(f"no{i}/t"))))),
            "o": Group(named(n, lambda _i: Group({"t": on_x({})}))),
        }
    ),
    "references of one array to nothing": lambda n: Group(
        {"a": on_x(cs(along(*(external(f"nothing{i}", name=f"s{i}") for i in range(n)))))}
    ),
    "references to references": chain_of_references,
    "CRSs of the group": lambda n: Group(
        named(
            n,
            lambda i: on_x(
                declaring("cs", cs={"crs": [{"node": "", "attribute": f"/attributes/crs/c{i}"}]})
            ),
        ),
        declaring(
            "cs",
            crs={f"c{i}": {"axes": along({"values": {"regular": [i, 1]}})} for i in range(n)},
        ),
    ),
    "coordinates of each array": lambda n: Group(
        {
            **named(n, lambda _i: on_x({}), "t"),
            "a": on_x(cf(coordinates=" ".join(f"t{i}" for i in range(n)))),
        }
    ),
    "coordinates that are not there": lambda n: Group(
        {"a": on_x(cf(coordinates=" ".join(f"t{i}" for i in range(n))))}
    ),
    "coordinates of an own name for each array": lambda n: Group(
        {
            **named(n, lambda _i: on_x({}), "t"),
            **named(n, lambda i: on_x(cf(coordinates=f"t{i}"))),
        }
    ),
    "coordinates beside the apex": _lateral,
    "ancillary variables": lambda n: Group(
        {
            "a": on_x(cf(ancillary_variables=" ".join(f"b{i}" for i in range(n)))),
            **named(n, lambda _i: on_x({}), "b"),
        }
    ),
    "bounds": lambda n: Group(
        {
            **named(n, lambda i: Array(ROWS, (f"x{i}",), cf())),
            **{f"x{i}": coordinate(f"x{i}", [0.0, 1.0], bounds=f"b{i}") for i in range(n)},
            **named(n, lambda i: Array(np.zeros((2, 2)), (f"x{i}", "v")), "b"),
        }
    ),
    "boundaries": lambda n: Group(
        named(
            n,
            lambda i: on_x(
                cs(along({"values": {"regular": [i, 1]}, "boundaries": {"regular": [-0.5, 0.5]}}))
            ),
        )
    ),
    "formula terms": _formula,
    "parametric terms": _parametric,
    "sets of an axis": lambda n: Group(
        {
            "a": on_x(
                cs(along(*({"name": f"s{i}", "values": {"regular": [i, 1]}} for i in range(n))))
            )
        }
    ),
    "scalar axes": lambda n: Group(
        named(
            n,
            lambda i: on_x(cs({"x": {}, "s": {"coordinates": [{"values": {"explicit": [i]}}]}})),
        )
    ),
    "scalar axes of own names": lambda n: Group(
        named(
            n,
            lambda i: on_x(
                cs({"x": {}, f"s{i}": {"coordinates": [{"values": {"explicit": [i]}}]}})
            ),
        )
    ),
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
            **named(n, lambda i: on_x(cs(along({"values": {"explicit": [i, i + 1]}})))),
        }
    ),
    "values of one dimension that differ": lambda n: Group(
        named(n, lambda i: on_x(cs(along({"values": {"regular": [i, 1]}}))))
    ),
    "sizes of one dimension": lambda n: Group(
        named(n, lambda i: Array(np.zeros(i + 1), ("x",), cf()))
    ),
    "codes of CRSs": lambda n: Group(
        named(
            n, lambda i: on_grid(declaring("spatial", "proj", **spatial(), **{"proj:code": utm(i)}))
        )
    ),
    "CRSs without a code": lambda n: Group(
        named(
            n, lambda i: on_grid(declaring("spatial", "proj", **spatial(), **{"proj:wkt2": wkt(i)}))
        )
    ),
    "CRSs that are not understood": lambda n: Group(
        named(
            n,
            lambda i: on_grid(
                declaring("spatial", "proj", **spatial(), **{"proj:code": f"mine:{i}"})
            ),
        )
    ),
    "CRSs beside spatial_ref": _uncomparable,
    "CRSs of geolocation arrays": lambda n: Group(
        {
            **named(n, lambda _i: on_grid({}), "lon"),
            **named(n, lambda _i: on_grid({}), "lat"),
            **named(
                n,
                lambda i: on_grid(
                    declaring(
                        "geolocation",
                        geolocation={
                            "planar": {
                                "x": {"node": f"lon{i}"},
                                "y": {"node": f"lat{i}"},
                                "crs": {"proj:code": utm(i)},
                            }
                        },
                    )
                ),
            ),
        }
    ),
    "grid mappings": lambda n: Group(
        {
            **named(n, lambda i: on_grid(cf(grid_mapping=f"crs{i}"))),
            **named(n, lambda i: stored(np.int32(0), "", crs_wkt=wkt(i)), "crs"),
        }
    ),
    "geolocation arrays of each": lambda n: Group(
        {
            **named(n, lambda _i: on_grid({}), "lon"),
            **named(n, lambda _i: on_grid({}), "lat"),
            **named(
                n,
                lambda i: on_grid(
                    declaring("geolocation", geolocation=geolocation(f"lon{i}", f"lat{i}"))
                ),
            ),
        }
    ),
    "geolocation arrays of all": lambda n: Group(
        {"lon": on_grid({}), "lat": on_grid({}), **named(n, lambda _i: on_grid({}))},
        declaring("geolocation", geolocation=geolocation("lon", "lat")),
    ),
    "transforms": lambda n: Group(
        named(
            n,
            lambda i: on_grid(
                declaring("spatial", **spatial([10.0 + i, 0.0, 0.0, 0.0, -10.0, 0.0]))
            ),
        )
    ),
    "a transform of all": lambda n: Group(
        named(n, lambda _i: on_grid({})), declaring("spatial", "proj", **spatial(), **WGS84)
    ),
    "items of a layout": lambda n: levels(n, lambda i: {"asset": f"l{i}", **spatial()}),
    "items of a layout that lead nowhere": lambda n: levels(n, lambda i: {"asset": f"no{i}"}),
    "levels of one": lambda n: levels(
        n,
        lambda i: {
            "asset": f"l{i}",
            **({"derived_from": "l0", "transform": {"scale": [2.0, 2.0]}} if i else spatial()),
        },
    ),
    "levels of one another": lambda n: levels(
        n,
        lambda i: {
            "asset": f"l{i}",
            **(
                {"derived_from": f"l{i - 1}", "transform": {"scale": [1.0, 1.0]}}
                if i
                else spatial()
            ),
        },
    ),
    "tile matrices": _tiles,
    "STAC": lambda n: Group(named(n, _stac)),
    "names that collide": lambda n: Group(
        {
            **named(n, lambda _i: Group({"t": on_x({})}), "g"),
            "o": Group(named(n, lambda i: on_x(cs(along(external(f"../g{i}/t", name="t")))))),
        }
    ),
    "names that collide at once": lambda n: Group(
        {"a": on_x(cs(along(*({"name": "t", "values": {"regular": [i, 1]}} for i in range(n)))))}
    ),
    "units": lambda n: Group(
        named(n, lambda i: on_x(declaring("uom", uom={"ucum": {"unit": f"m{i}"}})))
    ),
    "times": lambda n: Group(
        named(
            n,
            lambda i: on_x(
                cs(
                    along(
                        {
                            "time": {"unit": "days", "epoch": f"{1900 + i}-01-01"},
                            "values": {"regular": [0, 1]},
                        }
                    )
                )
            ),
        )
    ),
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
    "one mistake": lambda n: Group(named(n, lambda _i: on_x(declaring("cs", cs=7)))),
    "as many mistakes": lambda n: Group(
        named(n, lambda i: on_x(cs({f"z{i}": {"coordinates": f"none {i}"}})))
    ),
    "documents that are wrong": lambda n: Group(
        named(n, lambda _i: Array(ROWS, ("x",), v3={"shape": "none"}))
    ),
    "hints": lambda n: Group(named(n, lambda i: on_grid({**spatial(), "i": i}))),
    "strings": lambda n: Group(named(n, lambda i: on_x({"long_name": "x" * (1000 + i)}))),
}


#: Those where all is in one array.
OF_ONE = frozenset(
    {
        "references of one array to nothing",
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
    """Counts calls of the package's functions, in this thread and in that of zarr."""

    def __init__(self) -> None:
        self.count = 0
        self._is_ours: dict[CodeType, bool] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            code = frame.f_code
            if code not in self._is_ours:
                file = code.co_filename
                self._is_ours[code] = file.startswith(PACKAGE) and not file.startswith(TESTS)
            self.count += self._is_ours[code]


async def _traced(trace: Any) -> Any:
    before = sys.gettrace()
    sys.settrace(trace)
    return before


@contextmanager
def counting() -> Iterator[_Calls]:
    """Count what is called within; whatever else traces (coverage, a debugger) goes on behind it."""
    calls = _Calls()
    before, before_in_zarr = sys.gettrace(), sync(_traced(calls))
    sys.settrace(calls)
    try:
        yield calls
    finally:
        sys.settrace(before)
        sync(_traced(before_in_zarr))


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
    counts = []
    for n in (10, 20, 40):
        with counting() as calls:
            _compared(n)
        counts.append(calls.count)
    assert growth(counts) > 1.9
    assert growth([n + 1000 for n in (10, 20, 40)]) == 1
