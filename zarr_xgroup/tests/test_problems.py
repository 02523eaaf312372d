"""The option `problems`: which results are whole, which call warns, and which raises."""

import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import (
    XGroupError,
    XGroupMetadataWarning,
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupWarning,
)
from zarr_xgroup.tests.builders import (
    HINT,
    Array,
    Contents,
    Json,
    Nodes,
    Open,
    ZarrFormat,
    build,
    declaring,
    documents_of,
    edit,
    memory_store,
    opened_with_warnings,
    quietly,
    recorded,
    recording_store,
    stored,
    update,
    write_local,
)
from zarr_xgroup.tests.tables import rows
from zarr_xgroup.tests.test_error_handling import FUNCTIONS, TROUBLED, each_function

# A pipeline: 24 monthly stores as one Dataset.

MONTHS, BROKEN = 24, 6


def month(number: int) -> Contents:
    """Return the store of a month: two days, and columns that `cs` declares by a reference."""
    columns = {"coordinates": [{"values": {"external": {"node": "columns"}}}]}
    cs = declaring("cs", cs={"crs": [{"axes": {"x": columns}}]})
    values, days = np.full((2, 3), number, "i2"), [30 * number, 30 * number + 1]
    nodes: Nodes = {
        "": {},
        "data": {},
        "data/time": stored(days, "time", units="days since 2020-01-01"),
        "data/columns": stored([0.5, 1.5, 2.5], "columns"),
        "data/t2m": stored(values, "time x", scale_factor=0.5, **cs),
        "data/wind": stored(values, "time x"),
    }
    return build(nodes)


T2M, WIND = "data/t2m/zarr.json", "data/wind/zarr.json"


def referring(**reference: str) -> Callable[[Any], Any]:
    """Return a change of the reference to the columns."""

    def change(document: Any) -> Any:
        (axes,) = document["attributes"]["cs"]["crs"]
        axes["axes"]["x"]["coordinates"][0]["values"]["external"] = reference
        return document

    return change


def packed(document: Any) -> Any:
    document["attributes"]["scale_factor"] = "half"
    return document


#: What is broken -> the edit, and the outcomes in the order of `WAYS`, with "warn" and with "raise". In parallel, the
#: warnings are in the output of the workers, and xarray takes `x` from the other stores. Engine zarr refuses most of
#: the broken stores, so there is nothing to decode ("-").
FAULTS: Mapping[str, tuple[Callable[[Contents], Contents], str, str]] = {
    "nothing": (dict, "whole whole whole whole whole", "whole whole whole whole whole"),
    "a document that is not JSON": (
        lambda it: edit(it, T2M, b"<html>"),
        "warned warned smaller warned -",
        "raised raised raised raised -",
    ),
    "an unknown codec": (
        lambda it: edit(it, T2M, update(codecs=[{"name": "nosuchcodec"}])),
        "warned warned smaller warned -",
        "raised raised raised raised -",
    ),
    "an unknown data type": (
        lambda it: edit(it, T2M, update(data_type="nosuchtype")),
        "warned warned smaller warned -",
        "raised raised raised raised -",
    ),
    "a scale factor that is a text": (
        lambda it: edit(it, T2M, packed),
        "warned warned smaller warned -",
        "raised raised raised raised -",
    ),
    "a reference to an array that does not exist": (
        lambda it: edit(it, T2M, referring(node="rows")),
        "warned warned whole warned warned",
        "raised raised raised raised raised",
    ),
    "a reference to a store that cannot be reached": (
        lambda it: edit(it, T2M, referring(node="/columns", uri="file:///no/such.zarr")),
        "warned warned whole warned warned",
        "raised raised raised raised raised",
    ),
    "sizes that disagree": (
        lambda it: edit(it, WIND, update(shape=[3, 3])),
        "warned warned smaller warned -",
        "raised raised raised raised -",
    ),
    "attributes that are not an object": (
        lambda it: edit(it, T2M, update(attributes="none")),
        "warned warned smaller warned -",
        "raised raised raised raised -",
    ),
}


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("months")
    return [write_local(month(number), folder / f"{number:02}.zarr") for number in range(MONTHS)]


@pytest.fixture(scope="module")
def _worker(dask_workers: Any) -> Iterator[None]:
    with dask_workers(1):
        yield


def together(paths: list[Path], **options: Any) -> Any:
    """Open stores as one Dataset, one after the other along time."""
    others: Any = {"coords": "minimal", "data_vars": "minimal", "compat": "override"}
    options |= {"combine": "nested", "concat_dim": "time", "join": "outer", **others}
    return xr.open_mfdataset(paths, engine="xgroup", group="data", **options)


def decoded(path: Path, **options: Any) -> Any:
    """Open a store with engine zarr, and decode its conventions."""
    given = xr.open_dataset(path, engine="zarr", group="data", consolidated=False).load()
    if "t2m" not in given:
        raise ValueError  # zarr 3.0 leaves it out
    return zarr_xgroup.decode(given, **options)


WAYS: Mapping[str, Callable[..., Any]] = {
    "open_dataset": lambda paths, **options: xr.open_dataset(
        paths[BROKEN], engine="xgroup", group="data", **options
    ),
    "open_mfdataset": together,
    "in parallel": lambda paths, **options: together(paths, parallel=True, **options),
    "open_datatree": lambda paths, **options: xr.open_datatree(
        paths[BROKEN], engine="xgroup", **options
    )["data"].to_dataset(),
    "decode": lambda paths, **options: decoded(paths[BROKEN], **options),
}


def outcome(way: str, paths: list[Path], problems: str) -> tuple[str, list[str]]:
    """Return the outcome of opening stores in a way, and the texts of warnings or the lines of the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", XGroupWarning)
        warnings.simplefilter("ignore", XGroupNoPrincipalWarning)
        warnings.simplefilter("always", XGroupResolutionWarning)
        try:
            dataset = WAYS[way](paths, problems=problems)
        except XGroupError as error:
            return "raised", str(error).splitlines()
        except (ValueError, TypeError):  # of engine zarr
            if way == "decode":
                return "-", []
            raise
    if caught:
        return "warned", [str(it.message) for it in caught]
    numbers = range(MONTHS) if dataset.sizes["time"] > 2 else [BROKEN]
    is_whole = (
        {*dataset.coords} >= {"time", "x"}
        and dataset["t2m"].dims == dataset["wind"].dims == ("time", "x")
        and dataset["t2m"].values[:, 0].tolist() == [n / 2 for n in numbers for _day in "ab"]
    )
    return "whole" if is_whole else "smaller", []


@pytest.mark.usefixtures("_worker")
@rows(FAULTS, "change, warn, raising")
def test_a_broken_store_among_24(
    change: Callable[[Contents], Contents],
    warn: str,
    raising: str,
    months: list[Path],
    tmp_path: Path,
) -> None:
    broken = write_local(change(month(BROKEN)), tmp_path / "broken.zarr")
    paths = [*months[:BROKEN], broken, *months[BROKEN + 1 :]]
    warned = {way: outcome(way, paths, "warn") for way in WAYS}
    raised = {way: outcome(way, paths, "raise") for way in WAYS}
    assert " ".join(it for it, _texts in warned.values()) == warn
    assert " ".join(it for it, _texts in raised.values()) == raising
    for way, (_outcome, lines) in raised.items():
        if lines:
            name = "the Dataset" if way == "decode" else broken
            texts = warned["open_dataset" if way == "in parallel" else way][1]
            assert texts[-1].endswith(HINT)
            texts = [text.removesuffix(HINT) for text in texts]
            assert lines == [f'{name} has problems (problems="raise"):', *texts]


# Which findings are raised.


def declared(name: str, **attributes: Any) -> Array:
    return stored(np.zeros((2, 3)), "y x", **declaring(name, **attributes))


def in_store(nodes: Nodes, *edits: tuple[str, Any], zarr_format: ZarrFormat = 3) -> Contents:
    """Return a store in which documents have been edited."""
    contents = build({"": {}, **nodes}, zarr_format)
    for key, change in edits:
        contents = edit(contents, key, change)
    return contents


def unsafe(document: Any) -> Any:
    """Return the document of a root with consolidated metadata that name a node above it."""
    nodes = {"x": documents_of(X, 3)["zarr.json"], "../x": {}}
    return {**document, "consolidated_metadata": {"kind": "inline", "metadata": nodes}}


def along_x(start: int) -> Array:
    """Return an array with a coordinate from numbers."""
    axes = {"x": {"coordinates": [{"values": {"regular": [start, 1]}}]}}
    return stored(range(3), "x", **declaring("cs", cs={"crs": [{"axes": axes}]}))


X, Y, LONG = (stored(range(size), dim) for size, dim in ((3, "x"), (2, "y"), (4, "t")))
V = stored(np.zeros((2, 3)), "y x")
CF: Json = {"assume_conventions": "cf"}
DIMS, BOX = {"spatial:dimensions": ["y", "x"]}, {"spatial:bbox": [0, 0, 3, 2]}
CODES = {"proj:code": "EPSG:4326", "proj:wkt2": pyproj.CRS(32631).to_wkt()}
LAYOUT = {
    "layout": [{"asset": "1"}, {"asset": "2", "derived_from": "1", "transform": {"scale": [2, 2]}}]
}
PAIR = {axis: {"node": axis} for axis in "xy"}

#: What a store has -> the store, options, and the classes of the warnings with "warn": those with ! are raised.
KINDS: Mapping[str, tuple[Contents, Json, str]] = {
    # Lost.
    "a fill value of a different type": (in_store({"a": stored([1, 2], "x", _FillValue="none")}), {}, "!Metadata"),
    "times that cannot be decoded": (in_store({"t": stored([1, 2], "t", units="days since nonsense")}), {}, "!Metadata"),
    "a CRS that cannot be read": (in_store({"x": X, "y": Y, "a": declared("proj", **{"proj:code": "EPSG:0"})}), {}, "!Resolution"),
    "two CRSs of one grid mapping variable": (
        in_store({"x": X, "y": Y, "m": stored(0), **{
            name: declared("proj", grid_mapping="m", **{"proj:code": f"EPSG:{code}"}) for name, code in (("a", 32631), ("b", 32632))
        }}), {}, "!Resolution"),
    "a coordinate without attributes": (
        in_store({"g": {}, "g/x": X, "h": {}, "h/a": declared("ref", x={"node": "/g/x"})}, ("g/x/zarr.json", update(attributes=5))), {"group": "h"}, "!Resolution"),
    "a coordinate of a different size": (
        in_store({"g": {}, "g/t": LONG, "h": {}, "h/a": stored(range(3), "t", **declaring("ref", of={"node": "/g/t"}))}), {"group": "h"}, "!Dimension"),
    "a dimension above of a different size": (in_store({"t": LONG, "g": {}, "g/a": stored([1], "/t")}), {"group": "g"}, "!Dimension"),
    "one name of two sizes in an array": (in_store({"a": stored(np.zeros((2, 3)), ("x", "x"))}), {}, "!Dimension"),
    "names of dimensions that cannot be used": (
        in_store({"a": Array([1.0, 2.0], None, {"_ARRAY_DIMENSIONS": "x"})}, zarr_format=2), {}, "!Dimension"),
    "several coordinates equally near": (
        in_store({"g": {}, "g/a": stored([1, 2, 3, 4], "t"), **{name: it for n in "hi" for name, it in ((n, {}), (f"{n}/t", LONG))}}),
        {"group": "g", **CF}, "!Resolution"),
    "a transform of a different shape": (
        in_store({"a": stored(np.zeros((2, 3)), "y x", **{"proj:shape": [5, 5], "proj:transform": [1, 0, 0, 0, -1, 0]})}),
        {"assume_conventions": "proj"}, "!Resolution"),
    "a bounding box that is not used": (
        in_store({"": declaring("spatial", "multiscales", multiscales=LAYOUT, **DIMS), "1": {}, "1/a": V, "2": BOX, "2/a": stored(np.zeros((1, 1)), "y x")}),
        {"group": "2"}, "!Resolution"),
    "a node whose name is not safe": (in_store({"x": X}, ("zarr.json", unsafe)), {}, "!Metadata"),
    # Nothing lost.
    "unnamed dimensions": (in_store({"a": Array([1.0, 2.0], None)}), {}, "Dimension"),
    "different coordinates of one dimension": (
        in_store({"a": along_x(1), "b": along_x(2)}), {}, "Dimension"),
    "a coordinate whose name is used": (
        in_store({"g": {}, "g/b": stored(5), "a": stored([1, 2], "x", **declaring("ref", of={"node": "/g/b"})), "b": LONG}), {}, "Name"),
    "two CRSs of one array": (in_store({"x": X, "y": Y, "a": declared("proj", **CODES)}), {}, "Resolution"),
    "a convention without coordinates": (in_store({"a": declared("spatial", **DIMS)}), {}, "Resolution"),
    "a shape that is not the array's": (
        in_store({"a": declared("spatial", **DIMS, **BOX, **{"spatial:transform": [1, 0, 0, 0, -1, 2], "spatial:shape": [5, 5]})}), {}, "Resolution"),
    "geolocation with dimensions of its own": (
        in_store({"x": stored(np.zeros((1, 1)), "r c"), "y": stored(np.zeros((1, 1)), "r c"), "a": declared("geolocation", geolocation={"geodetic": PAIR})}),
        {}, "Resolution Resolution"),
    "consolidated metadata that cannot be used": (in_store({"a": X}, ("zarr.json", update(consolidated_metadata=5))), {}, "Metadata"),
    "levels of a tree that do not align": (in_store({"t": LONG, "g": {}, "g/t": stored([1, 2], "t")}), {}, "tree: Dimension"),
}  # fmt: skip


@rows(KINDS, "contents, options, expected")
def test_what_is_smaller_or_different_is_raised_and_choices_are_warned_about(
    contents: Contents, options: Json, expected: str
) -> None:
    store: Any = memory_store(contents)
    for function in FUNCTIONS:
        only, _colon, kinds = expected.rpartition(": ")
        kinds = "" if only and not function.__name__.endswith(only) else kinds
        _opened, given = opened_with_warnings(function, store, **options)
        texts = [type(it).__name__.removeprefix("XGroup").removesuffix("Warning") for it in given]
        assert texts == kinds.removeprefix("!").split()
        if kinds.startswith("!"):
            with pytest.raises(XGroupError) as raised:
                quietly(function, store, engine="xgroup", problems="raise", **options)
            assert str(raised.value).splitlines()[1:] == list(map(str, given))
        else:
            _opened, still = opened_with_warnings(function, store, problems="raise", **options)
            assert list(map(str, still)) == list(map(str, given))


# The option.


def test_the_error_lists_each_problem_once_and_other_warnings_are_given() -> None:
    store: Any = memory_store(TROUBLED)
    _opened, warned = recorded(xr.open_dataset, store, engine="xgroup")
    problems = [
        it for it in warned if isinstance(it, XGroupMetadataWarning | XGroupResolutionWarning)
    ]
    assert len(problems) == 2
    with pytest.warns(XGroupWarning) as given, pytest.raises(XGroupError) as raised:
        xr.open_dataset(store, engine="xgroup", problems="raise")
    head, *lines = str(raised.value).splitlines()
    assert head == f'{store} has problems (problems="raise"):'
    assert lines == list(map(str, problems))
    assert [str(it.message) for it in given] == [str(it) for it in warned if it not in problems]
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (type(copy), str(copy)) == (XGroupError, str(raised.value))


def test_only_the_last_warning_about_a_problem_names_the_option() -> None:
    with pytest.warns(XGroupWarning) as given:
        xr.open_dataset(memory_store(TROUBLED), engine="xgroup")  # type: ignore[arg-type]
    kinds = [type(it.message) for it in given if str(it.message).endswith(HINT)]
    assert kinds == [XGroupResolutionWarning]
    assert sum('problems="raise"' in str(it.message) for it in given) == 1


@each_function
def test_the_store_is_closed_before_the_error_is_raised(
    function: Open, tmp_path: Path, closed_stores: list[Any]
) -> None:
    other = write_local(build({"": {}, "x": stored([1, 2, 3], "x")}), tmp_path / "other.zarr")
    lost, found = {"node": "/nope"}, {"node": "/x", "uri": other.as_uri()}
    array = stored([1, 2, 3], "x", **declaring("ref", lost=lost, found=found))
    path = write_local(build({"": {}, "a": array}), tmp_path / "s.zarr")
    with pytest.raises(XGroupError, match="'lost'"):
        function(path, engine="xgroup", problems="raise")
    assert len(closed_stores) == 2


def test_another_value_is_refused_before_anything_is_read() -> None:
    store: Any = recording_store(TROUBLED)
    delayed, lazy = pytest.importorskip("dask").delayed, pytest.importorskip("dask.array")
    texts = lazy.from_delayed(delayed(int)("not a number"), (1,), object)
    dataset = xr.Dataset({"a": ("x", texts)})
    calls: list[Callable[..., Any]] = [
        *(partial(function, store, engine="xgroup") for function in FUNCTIONS),
        partial(zarr_xgroup.decode, dataset),
    ]
    for call in calls:
        with pytest.raises(
            ValueError, match="problems must be one of 'warn', 'raise', got 'ignore'"
        ):
            call(problems="ignore")
    assert (store.gets, store.listed) == ([], [])
    # They report all problems anyway.
    reports: list[Callable[..., Any]] = [zarr_xgroup.explain, zarr_xgroup.check]
    for report in reports:
        with pytest.raises(TypeError, match="unknown option problems"):
            report(store, problems="raise")
