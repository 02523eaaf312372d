"""Explanations: they agree with the opened Datasets, read no chunk, and convert to JSON."""

import json
import re
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyproj
import pytest
import xarray as xr
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import (
    XGroupGroupError,
    XGroupNoPrincipalWarning,
    XGroupStoreNotFoundError,
    explain,
)
from zarr_xgroup.report.explanation import VERSION
from zarr_xgroup.report.page import page
from zarr_xgroup.report.results import Explanation
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    Json,
    build,
    declaring,
    memory_store,
    quietly,
    recorded,
    stored,
    write_local,
)
from zarr_xgroup.tests.explanations import SAMPLE, axes, external, located, sized
from zarr_xgroup.tests.servers import DelayingStore
from zarr_xgroup.tests.tables import rows, store_of

STORES = Path(__file__).parents[1] / "stores"


def lines(found: Explanation) -> Iterator[str]:
    """Yield all that is told of arrays, coordinates, references and problems, a line for each."""
    for group in found.groups:
        for array in group.arrays:
            conventions = [f"{it.name} {it.tier} {it.declared_in}" for it in array.conventions]
            crs = array.crs and f"{array.crs.name} {array.crs.code} {array.crs.variable}"
            facts = {
                "": "coordinate" if array.is_coordinate else "",
                "by ": ", ".join(conventions),
                "with ": " ".join(array.coordinates),
                "without ": " ".join(array.missing),
                "CRS ": crs,
            }
            told = [f"{name}{it}" for name, it in facts.items() if it]
            yield f"array {array.path} ({' '.join(array.dims)}): {'; '.join(told)}"
        for it in group.coordinates:
            words = (it.kind, it.origin, "index" if it.is_index else "", it.text)
            told = [str(word) for word in words if word]
            bounds = f"; bounds {it.bounds}" if it.bounds else ""
            users = f" @ {' '.join(it.arrays)}" if it.arrays else ""
            yield f"coordinate {group.path} {it.name} ({' '.join(it.dims)}) {' '.join(told)}{bounds}{users}"
    for reference in found.references:
        how = " by fallback" if reference.by_fallback else ""
        text = f": {reference.text}" if reference.text else ""
        users = " ".join(reference.arrays)
        start = reference.source.node
        yield f"reference {start} {reference.target} = {reference.leads_to}{how} @ {users}{text}"
    for problem in found.problems:
        yield f"{problem.kind} {problem.place} @ {' '.join(problem.arrays)}: {problem.lost}"


def assert_told(store: Any, expected: str, *kinds: str, **options: Any) -> None:
    """Assert which lines of some kinds an explanation has."""
    told = [it.strip() for it in lines(explain(store, **options)) if it.startswith(kinds)]
    assert told == [line.strip() for line in expected.strip().splitlines()]


X = stored([1.0, 2.0], "x")
GRID = sized("y x", 2, 3)
#: The attributes of an array whose coordinates are told by a group.
OF_GROUP = declaring("cs", cs={"crs": [{"node": "/g0", "attribute": "/attributes/crs"}]})
AXES_OF_GROUP = {"axes": {"x": {"coordinates": [{"values": external("/g0/x0")}]}}}


def field(node: str) -> Array:
    """Return an array whose coordinate is stored elsewhere."""
    return sized("x", 2, **axes(x=external(node)))


REFERENCES: dict[str, tuple[Any, str]] = {
    "a reference shared by arrays is reported for each": (
        {"axes": Group({"x": X}), "g/a": field("../axes/x"), "g": {}, "g/b": field("../axes/x")},
        """reference /g/a ../axes/x = /axes/x @ /g/a
        reference /g/b ../axes/x = /axes/x @ /g/b""",
    ),
    "a reference of a group is reported once with all arrays": (
        {"at/lon": GRID, "at/lat": GRID, "at": {}, "g": located("/at/lon", "/at/lat"), "g/a": GRID, "g/b": GRID},
        """reference /g /at/lon = /at/lon @ /g/a /g/b
        reference /g /at/lat = /at/lat @ /g/a /g/b""",
    ),
    "the target of a reference may have references": (
        {"g0": {"crs": AXES_OF_GROUP}, "g0/a": sized("x", 2, **OF_GROUP), "g0/x0": sized("n", 2),
         "g1": {}, "g1/a": sized("x", 2, **OF_GROUP)},
        """reference /g0/a /g0#/attributes/crs = /g0#/attributes/crs @ /g0/a
        reference /g0 /g0/x0 = /g0/x0 @ /g0/a /g1/a
        reference /g1/a /g0#/attributes/crs = /g0#/attributes/crs @ /g1/a""",
    ),
    "one may be found by another rule than the first": (
        {"g": {}, "g/a": field("../x0"), "g/x0": sized("n", 2)},
        "reference /g/a ../x0 = /g/x0 by fallback @ /g/a",
    ),
    "of two nodes that fit, the first rule chooses": (
        {"g": {}, "g/a": field("../x0"), "g/x0": sized("n", 2), "x0": sized("n", 2)},
        """reference /g/a ../x0 = /x0 @ /g/a: was resolved to /x0, not to /g/x0 (which fits too)
        choice /g/a#/attributes/cs/crs/0/axes/x/coordinates/0/values/external @ /g/a:""",
    ),
    "the group's own coordinate is used if a reference fails": (
        {"a": sized("y x", 2, 3, **located("gone/lon", "lat")), "lon": GRID, "lat": GRID},
        """reference /a gone/lon = /lon by fallback @ /a: cannot be resolved; the group's own array 'lon' is used
        reference /a lat = /lat @ /a""",
    ),
    "a coordinate is missing if a reference fails": (
        {"a": field("gone")},
        """reference /a gone = None @ /a: cannot be resolved; tried /gone (not found in store), /a/gone (not found in store)
        problem /a#/attributes/cs/crs/0/axes/x/coordinates/0/values/external @ /a: coordinate 'x'""",
    ),
    "paths of CF and names of dimensions are references": (
        {"time": stored([1.0, 2.0], "time"), "at": {}, "at/lon": sized("time x", 2, 3),
         "g": {"zarr_conventions": [{"name": "CF"}]}, "g/a": sized("time x", 2, 3, coordinates="/at/lon gone"),
         "h": {}, "h/b": sized("/time x", 2, 3)},
        """reference /g/a /at/lon = /at/lon @ /g/a
        reference /g/a gone = None @ /g/a: does not refer to an array
        reference /g/a time = /time @ /g/a
        reference /h/b /time = /time @ /h/b
        problem /g/a#/attributes/coordinates @ /g/a: 'gone' of 'coordinates'""",
    ),
}  # fmt: skip


@rows(REFERENCES)
def test_targets_of_references_are_shown(nodes: Any, expected: str) -> None:
    nodes = {"": {}} | nodes
    assert_told(store_of(nodes), expected, "reference", "problem", "choice")


def test_a_foreign_store_is_shown_by_its_uri(tmp_path: Path) -> None:
    uri = f"file://{write_local(build({'': {}, 'x': X}), tmp_path / 'other.zarr')}"
    nodes: Any = {"": {}, "a": sized("x", 2, **axes(x=external("/x", uri=uri)))}
    here = write_local(build(nodes), tmp_path / "here.zarr")
    expected = f"""coordinate / x (x) foreign {uri}|/x index @ /a
        coordinate / spatial_ref () inline CRS WGS 84 @ /a
        reference /a {uri}|/x = {uri}|/x @ /a"""
    assert_told(here, expected, "coordinate", "reference")


UNDECLARED = {"cs": axes(x={"regular": [1.0, 0.5]})["cs"]}
FOUND: dict[str, tuple[Any, str]] = {
    "who declares a convention": (
        {"a": sized("x", 2, **UNDECLARED, **declaring("cs")), "g": declaring("cs"),
         "g/a": sized("x", 2, **UNDECLARED), "h": declaring({"name": "radar"}, "NZ-1.0"),
         "h/a": sized("x", 2, **UNDECLARED)},
        """array /a (x): by cs principal /a; with x spatial_ref; CRS WGS 84 EPSG:4326 spatial_ref
        coordinate / x (x) computed index regular: 1.0 + 0.5 * i @ /a
        coordinate / spatial_ref () inline CRS WGS 84 @ /a
        array /g/a (x): by cs principal /g; with x spatial_ref; CRS WGS 84 EPSG:4326 spatial_ref
        coordinate /g x (x) computed index regular: 1.0 + 0.5 * i @ /g/a
        coordinate /g spatial_ref () inline CRS WGS 84 @ /g/a
        array /h/a (x): by cs principal None, radar unknown /h, NZ-1.0 recognised /h; with x spatial_ref; CRS WGS 84 EPSG:4326 spatial_ref
        coordinate /h x (x) computed index regular: 1.0 + 0.5 * i @ /h/a
        coordinate /h spatial_ref () inline CRS WGS 84 @ /h/a""",
    ),
    "an array with the name of a dimension is a coordinate": ({"z": sized("t z", 2, 3)}, """array /z (t z): coordinate
        coordinate / z (t z) own /z"""),
    "a coordinate of the parents is not missing": (
        {"x": X, "g": {}, "g/a": sized("x y", 2, 3)},
        """array /x (x): coordinate
        coordinate / x (x) own /x index
        array /g/a (x y): with x; without y
        coordinate /g x (x) stored /x index inherited from / @ /g/a""",
    ),
    "a coordinate that a group gets from one above by its Conventions": (
        {"": {"Conventions": "CF-1.12"}, "x": X, "g": {}, "g/a": sized("x", 2), "g/h": {}, "g/h/b": sized("x", 2)},
        """array /x (x): coordinate
        coordinate / x (x) own /x index
        array /g/a (x): with x
        coordinate /g x (x) stored /x index inherited from / @ /g/a
        array /g/h/b (x): with x
        coordinate /g/h x (x) stored /x index inherited from / @ /g/h/b""",
    ),
    "a grid mapping variable with the declared CRS overrides nothing": (
        {"a": sized("y x", 2, 3, **declaring("proj"), **{"proj:code": "EPSG:32633"}),
         "spatial_ref": sized("", crs_wkt=pyproj.CRS(32633).to_wkt())},
        """array /a (y x): by proj service /a; with spatial_ref; without y x; CRS WGS 84 / UTM zone 33N EPSG:32633 spatial_ref
        array /spatial_ref (): coordinate
        coordinate / spatial_ref () own /spatial_ref CRS WGS 84 / UTM zone 33N @ /a""",
    ),
    "what coordinates are computed from": (
        {"a": sized("x y", 9, 5, **axes(
            x={"values": {"regular": [-10.0, 5.0]}, "boundaries": {"regular": [-0.5, 0.5]}},
            y={"explicit": [50.0, 51.5, 54.0, 57.0, 60.0]}))},
        """array /a (x y): by cs principal /a; with x y spatial_ref; CRS WGS 84 EPSG:4326 spatial_ref
        coordinate / x (x) computed index regular: -10.0 + 5.0 * i; bounds x_bounds @ /a
        coordinate / y (y) inline index values 50.0, 51.5, 54.0, ..., 60.0 @ /a
        coordinate / x_bounds (x bounds) computed -10.0 + 5.0 * i; from -0.5 to +0.5 of each value; cell boundaries of 'x'
        coordinate / spatial_ref () inline CRS WGS 84 @ /a""",
    ),
    "what affine transforms are": (
        {"g": {**declaring("spatial"), "spatial:dimensions": ["y", "x"],
               "spatial:transform": [10.0, 0.0, 500.0, 0.0, -10.0, 4600.0]},
         "g/a": sized("y x", 2, 3),
         "h": {**declaring("spatial"), "spatial:dimensions": ["y", "x"],
               "spatial:transform": [10.0, 1.0, 500.0, 2.0, -10.0, 4600.0]},
         "h/a": sized("y x", 2, 3)},
        """array /g/a (y x): by spatial principal /g; with y x
        coordinate /g y (y) computed index affine transform: 4600.0 - 10.0 * (i + 0.5) @ /g/a
        coordinate /g x (x) computed index affine transform: 500.0 + 10.0 * (i + 0.5) @ /g/a
        array /h/a (y x): by spatial principal /h; with xc yc
        coordinate /h xc (y x) computed rotated affine transform: 500.0 + 10.0 * (column + 0.5) + 1.0 * (row + 0.5) @ /h/a
        coordinate /h yc (y x) computed rotated affine transform: 4600.0 + 2.0 * (column + 0.5) - 10.0 * (row + 0.5) @ /h/a""",
    ),
    "grid mappings, boundaries and terms of formulas in CF": (
        {"": declaring("CF"), "a": sized("lev x", 2, 3, grid_mapping="crs", coordinates="depth"), "depth": sized("x", 3),
         "lev": sized("lev", 2, formula_terms="sigma: lev depth: depth", bounds="lev_bnds"),
         "lev_bnds": sized("lev n", 2, 2), "crs": sized("", grid_mapping_name="latitude_longitude")},
        """array /a (lev x): by cf principal /; with lev depth; CRS latitude_longitude None crs
        array /crs (): by cf principal /
        array /depth (x): coordinate; by cf principal /
        array /lev (lev): coordinate; by cf principal /
        array /lev_bnds (lev n): by cf principal /; with lev
        coordinate / lev (lev) own /lev index term 'sigma' of the formula of 'lev'; bounds lev_bnds @ /a /lev_bnds
        coordinate / depth (x) own /depth term 'depth' of the formula of 'lev' @ /a""",
    ),
}  # fmt: skip


@rows(FOUND)
def test_explanations_of_arrays_and_their_coordinates(nodes: Any, expected: str) -> None:
    nodes = {"": {}} | nodes
    assert_told(store_of(nodes), expected, "array", "coordinate", assume_conventions="cs")


def test_units_and_assumed_conventions_are_values() -> None:
    nodes: Any = {"": {}, "a": sized("x", 2, units="K", **UNDECLARED), "b": sized("x", 2, units=7)}
    explanation = explain(store_of(nodes), assume_conventions="cs")
    first, second = explanation.groups[0].arrays
    assert (first.units, second.units) == ("K", "")
    assert [(one.name, one.is_assumed) for one in first.conventions] == [("cs", True)]
    assert explanation.assumed == ("cs",)
    assert "convention cs (assumed)" in repr(explanation)


def level(asset: str, size: int, source: str = "") -> Json:
    """Return an item of a layout whose cells have no known size."""
    return {
        "asset": asset,
        "spatial:shape": [size, size],
        **({"derived_from": source} if source else {}),
    }


@pytest.mark.parametrize(
    ("sizes", "factors"), [((4, 12, 6), "3 1 2"), ((5, 12, 6), "~2.4 1 2"), ((1, 2, 2), "2 1 1")]
)
def test_sizes_give_the_factors_of_levels(sizes: tuple[int, ...], factors: str) -> None:
    layout = [level(f"r{n}", size) for n, size in enumerate(sizes)]
    arrays = {f"r{n}/v": sized("y x", size, size) for n, size in enumerate(sizes)}
    nodes: Any = {"": declaring("multiscales", multiscales={"layout": layout})}
    nodes |= {f"r{n}": {} for n in range(len(sizes))} | arrays
    levels = zarr_xgroup.levels(store_of(nodes))
    assert [one.factor for one in levels] == [None] * 3
    table = [line.split() for line in repr(levels).splitlines()[1:]]
    assert sorted((line[0], line[-1]) for line in table) == [
        (f"/r{n}", factor) for n, factor in enumerate(factors.split())
    ]
    # Groups are shown in the order of their levels.
    assert [line[0] for line in table] == ["/r1", "/r2", "/r0"]
    assert "r1 and 2 groups like it: r2, r0" in repr(explain(store_of(nodes)))


# It is what an open does.


def assert_told_as_json(explanation: Explanation) -> None:
    """Assert that an explanation is the same when it is made again of its JSON values."""
    told = json.loads(json.dumps(explanation.to_dict(), allow_nan=False))
    assert msgspec.convert(told, Explanation) == explanation
    assert told["version"] == VERSION


@pytest.mark.parametrize("path", sorted(STORES.glob("*.zarr")), ids=lambda path: path.stem)
def test_an_explanation_describes_the_opened_datasets(path: Path) -> None:
    datasets = quietly(xr.open_groups, path, engine="xgroup", decode_times=False)
    tree = quietly(xr.open_datatree, path, engine="xgroup", decode_times=False)
    explanation = explain(path)
    assert [group.path for group in explanation.groups] == list(datasets)
    for group in explanation.groups:
        # What arrays of other groups declare to be times is a coordinate in a tree.
        dataset = datasets[group.path].set_coords({it.name for it in group.arrays if it.times})
        inherited = {*tree[group.path].coords} & {*dataset.dims} - {*dataset.variables}
        dataset = dataset.assign_coords({name: tree[group.path].coords[name] for name in inherited})
        told = {it.name: it.dims for it in group.coordinates}
        assert told == {str(name): it.dims for name, it in dataset.coords.items()}
        texts = {it.name: it.text for it in group.coordinates}
        assert all(texts[str(name)].startswith("inherited from /") for name in inherited)
        for found in group.arrays:
            array = dataset[found.name]
            assert (found.dims, found.shape) == (array.dims, array.shape)
            assert found.is_coordinate == (found.name in dataset.coords)
            assert set(found.coordinates) == set(array.coords) - {found.name}
    assert_told_as_json(explanation)


@pytest.mark.parametrize("name", products.PRODUCTS)
def test_products_are_explained_as_json(name: str, tmp_path: Path) -> None:
    assert_told_as_json(explain(products.write(name, tmp_path)))


@pytest.mark.parametrize("consolidated", [False, True])
def test_no_chunk_is_read_and_no_more_documents_than_by_an_open(consolidated: bool) -> None:
    contents = build(SAMPLE, consolidated=consolidated)
    read, by_open = (DelayingStore(memory_store(contents), 0.01) for _ in range(2))
    explanation = explain(read)
    quietly(xr.open_datatree, by_open, engine="xgroup", decode_times=False)
    assert not read.chunk_gets
    of_values = ("chunk", "exists")  # opening asks whether chunks are missing if values repeat
    assert read.counts == {kind: it for kind, it in by_open.counts.items() if kind not in of_values}
    assert read.rounds <= by_open.rounds
    assert explanation.is_consolidated == consolidated
    assert len(explanation.references) == 7


# Options.


@pytest.mark.parametrize("name", ["stacklevel", "mode", "cache_members", "zarr_version", "bbox"])
@pytest.mark.parametrize("function", [explain, zarr_xgroup.check, zarr_xgroup.levels])
def test_options_without_effect_on_a_report_are_refused(function: Any, name: str) -> None:
    shown = signature(function).parameters
    assert next(iter(shown)) == "filename_or_obj"
    assert name not in shown
    with pytest.raises(TypeError, match=f"unknown option {name}"):
        function(store_of(Group()), **{name: None})


def test_options_are_those_of_an_open() -> None:
    store = store_of({"": {}, "g": {}, "g/x": X, "g/h": {}, "g/y": stored([1.0, 2.0], "x")})
    with pytest.raises(TypeError, match="unknown option nonsense"):
        explain(store, nonsense=1)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="unknown convention 'nonsense'"):
        explain(store, assume_conventions="nonsense")
    with pytest.raises(XGroupGroupError):
        explain(store, group="nowhere")
    with pytest.raises(XGroupStoreNotFoundError):
        explain(MemoryStore())
    kept = explain(store, group="g", drop_variables="y", decode_times=False)
    assert kept.group == "/g"
    assert {it.path: [array.path for array in it.arrays] for it in kept.groups} == {
        "/g": ["/g/x"],
        "/g/h": [],
    }


def test_lazily_imported_functions_are_listed() -> None:
    assert {"explain", "check"} <= {*dir(zarr_xgroup)}
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        getattr(zarr_xgroup, "nonsense")  # noqa: B009 - not known to type checkers


# Arrays without a principal convention.

STAC = {"proj:epsg": 32632}
GRID_X, GRID_Y = stored([1.0, 2.0, 3.0], "x"), stored([1.0, 2.0], "y")
#: Stores, and the names of the arrays that the warning is about.
COUNTED: dict[str, tuple[Any, str]] = {
    "without coordinates": ({"": {}, "a": sized("y x", 2, 3), "t": sized("n", 4), "x": GRID_X}, "a t"),
    "without a CRS": ({"": {}, "a": sized("y x", 2, 3, **STAC), "b": sized("y x", 2, 3), "x": GRID_X, "y": GRID_Y}, "a"),
    "in groups": ({"": {}, "g": {}, "g/a": sized("y x", 2, 3), "h": {}, "h/b": sized("z", 3), "h/x": GRID_X}, "a b"),
}  # fmt: skip


@rows(COUNTED, "nodes, names")
def test_an_explanation_marks_only_the_arrays_that_the_warning_counts(
    nodes: Any, names: str
) -> None:
    store: Any = store_of(nodes)
    _tree, given = recorded(xr.open_datatree, store, engine="xgroup")
    warned = [it for it in given if type(it) is XGroupNoPrincipalWarning]
    counted = [path for it in warned for path in it.paths]
    assert [path.rpartition("/")[2] for path in counted] == names.split()
    explanation = explain(store)
    # In text, what is said of an array is below its name.
    branches = re.split(r"(?m)^[\W]*[├└]── ", repr(explanation).partition("\n[1]")[0])
    marked = [branch.split()[0] for branch in branches if "see [1] below" in branch]
    assert marked == names.split()
    # The page has a row for each array; its search looks into the text of rows.
    row = r'<details id="\w+" class="row array"><summary><span class="name">(.*?)</span>(.*?)</details>'
    found = re.findall(row, page(explanation), re.DOTALL)
    assert [name for name, text in found if "problem" in text.lower()] == names.split()


# Many things.


def test_the_text_of_a_large_explanation_is_short_and_its_value_complete() -> None:
    broken = {
        f"b/a{n}": sized(f"x{n}", 2, **axes(**{f"x{n}": external("gone")})) for n in range(500)
    }
    groups: Any = {f"g{n}": Group({"a": Array(np.zeros(1), ("x",))}) for n in range(300)}
    explanation = explain(store_of({"": {}, "b": {}, **broken, **groups}))
    text = repr(explanation)
    assert len(text.splitlines()) <= 200
    assert max(map(len, text.splitlines())) <= 100
    assert text.endswith("Groups: 302. Arrays: 800. References: 500. Problems: 501.")
    problems = [it for it in explanation.problems if it.kind == "problem"]
    assert len(problems) == 200
    assert problems[-1].text.endswith(" (and 300 more of this kind)")
    assert sum(it.count for it in explanation.problems) == 501
    assert len({path for it in problems for path in it.arrays}) == 500
