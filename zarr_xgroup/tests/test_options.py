"""Decoding options of xarray: the same result as engine zarr with the same variables in one group."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Nodes,
    build,
    declaring,
    memory_store,
    quietly,
    recording_store,
    stored,
)

TIMES = {
    "time": {"unit": "days", "epoch": "2000-01-01"},
    "values": {"external": {"node": "/axes/time"}},
    "boundaries": {"regular": [-0.5, 0.5]},
}
LATITUDES = {
    "unit": "degrees_north",
    "values": {"regular": [10.0, 1.0]},
    "boundaries": {"regular": [-0.5, 0.5]},
}


def field(code: str, values: Any, **attributes: Any) -> Array:
    axes = {"time": {"coordinates": [TIMES]}, "lat": {"coordinates": [LATITUDES]}}
    cs = {"crs": [{"axes": axes, "id": {"proj:code": code}}]}
    return stored(values, "time lat", **declaring("cs", cs=cs), **attributes)


NODES: Nodes = {
    "": {},
    "axes": {},
    "axes/time": stored([1.0, 2.0], "time"),
    "g": {},
    "g/red": field("EPSG:32632", [[1, 2], [3, 4]], scale_factor=0.5),
    "g/nir": field("EPSG:32633", [[1.0, 2.0], [3.0, 4.0]]),
    "g/lag": field("EPSG:32633", [[1.0, 2.0], [3.0, 4.0]], units="days"),
}
STORE: Any = memory_store(build(NODES))
SWITCH = st.sampled_from([None, True, False])
DROPPED = [None, "lat", ["lat_bounds", "time"], "spatial_ref"]
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "decode_cf": SWITCH,
        "decode_coords": st.sampled_from([None, True, False, "coordinates", "all"]),
        "decode_times": SWITCH,
        "decode_timedelta": SWITCH,
        "mask_and_scale": SWITCH,
        "drop_variables": st.sampled_from(DROPPED),
    },
)


@pytest.fixture(scope="module")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store whose one group has all variables of the other one, undecoded as it gives them."""
    if Version("2025.1") > XARRAY:
        pytest.skip("this xarray does not write by this zarr")
    path = tmp_path_factory.mktemp("flat") / "s.zarr"
    dataset = quietly(xr.open_dataset, STORE, engine="xgroup", group="g", decode_cf=False).load()
    for variable in dataset.variables.values():
        variable.encoding = {"_FillValue": None} if variable.dtype.kind == "f" else {}
    quietly(dataset.to_zarr, path, zarr_format=2, consolidated=False)
    return path


@given(OPTIONS)
@settings(
    deadline=None,
    derandomize=True,
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_all_decoding_options(flat: Path, options: dict[str, Any]) -> None:
    ours = quietly(xr.open_dataset, STORE, engine="xgroup", group="g", **options)
    theirs = quietly(xr.open_dataset, flat, engine="zarr", consolidated=False, **options)
    assert set(ours.variables) == set(theirs.variables)
    for name in theirs.variables:
        mine, other = ours.variables[name], theirs.variables[name]
        assert mine.dtype == other.dtype
        for variable in (mine, other):
            variable.attrs.pop("coordinates", None)
        assert mine.attrs == other.attrs
        xr.testing.assert_equal(mine, other)
        for key in ("grid_mapping", "bounds", "units", "calendar", "scale_factor"):
            assert mine.encoding.get(key) == other.encoding.get(key), (name, key)


def test_each_array_has_its_own_crs() -> None:
    dataset = xr.open_dataset(STORE, engine="xgroup", group="g", decode_coords="all")
    assert dataset["red"].rio.crs.to_epsg() == 32632
    assert dataset["nir"].rio.crs.to_epsg() == 32633


@pytest.mark.parametrize(
    ("given", "options", "kind", "text"),
    [
        (
            ["a.zarr", "b.zarr"],
            {},
            TypeError,
            "expected one store, as a path, a URL or a store object",
        ),
        (
            SimpleNamespace(readonly_session=None),  # as a repository of icechunk
            {},
            TypeError,
            r"open a session of it, such as repository.readonly_session\('main'\)",
        ),
        ("a", {"group": 3}, TypeError, "group must be the path of a group, such as 'a/b', got 3"),
        ("a", {"zarr_format": 4}, ValueError, "zarr_format must be 2 or 3, got 4"),
        ("a", {"assume_convention": "cf"}, TypeError, "did you mean assume_conventions"),
        ("a", {"level": 2}, TypeError, "did you mean resolution"),
        ("a", {"chunk": {}}, TypeError, "did you mean chunks"),
        ("a", {"assume_conventions": "multiscales"}, ValueError, "assume 'spatial' or 'geozarr'"),
    ],
    ids=str,
)
def test_invalid_options_are_reported_by_name(
    given: Any, options: dict[str, Any], kind: type[Exception], text: str
) -> None:
    for function in (xr.open_dataset, xr.open_groups, xr.open_datatree):
        opening: Any = function
        with pytest.raises(kind, match=text):
            opening(given, engine="xgroup", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"assume_conventions": "nope"}, "unknown convention 'nope'"),
        ({"convention_attrs": "nope"}, "nope"),
        ({"nope": 1}, "has no option nope"),
        ({"mode": "w"}, "only reads"),
    ],
)
def test_invalid_options_are_refused_before_reading(options: Any, message: str) -> None:
    store: Any = recording_store(build(NODES))
    with pytest.raises((TypeError, ValueError), match=message):
        xr.open_dataset(store, engine="xgroup", **options)
    assert (store.gets, store.listed) == ([], [])


@pytest.mark.parametrize("kind", ["MemoryStore", "Group", "StorePath", "dict"])
def test_storage_options_are_refused_with_an_open_store(kind: str) -> None:
    given: Any = {
        "MemoryStore": STORE,
        "Group": zarr.open_group(STORE, mode="r"),
        "StorePath": zarr.open_group(STORE, mode="r").store_path,
        "dict": build(NODES),
    }[kind]
    for opening in (xr.open_dataset, zarr_xgroup.explain):
        options: Any = {"engine": "xgroup"} if opening is xr.open_dataset else {}
        with pytest.raises(TypeError, match=f"storage_options .* {kind}"):
            quietly(opening, given, storage_options={"anon": True}, **options)
