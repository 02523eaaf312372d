import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import cftime
import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import demo
from zarr_xgroup.cli import main
from zarr_xgroup.tests.documents import files, script
from zarr_xgroup.tests.report.test_terminal import Stream


@pytest.fixture(scope="module")
def completed() -> subprocess.CompletedProcess[str]:
    """The command, run where there is no terminal."""
    return subprocess.run(
        [sys.executable, "-m", "zarr_xgroup", "demo"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LANGUAGE": "en", "COLUMNS": "100"},
    )


@pytest.fixture
def shown(completed: subprocess.CompletedProcess[str]) -> str:
    """What it prints."""
    return completed.stdout


def rows(shown: str) -> dict[str, tuple[str, str]]:
    """Return what both engines give, as text in one line, by group."""
    found: dict[str, tuple[str, str]] = {}
    group = ""
    for line in shown.splitlines():
        if re.match(r"[│|] ", line):
            name, theirs, ours = (it.strip() for it in re.split(r"[│|]", line)[1:4])
            group = name or group
            given = found.get(group, ("", ""))
            found[group] = f"{given[0]} {theirs}".strip(), f"{given[1]} {ours}".strip()
    return found


def test_each_group_has_a_row(shown: str) -> None:
    assert tuple(rows(shown)) == demo.GROUPS


def test_what_conventions_declare(shown: str) -> None:
    found = rows(shown)
    assert found["/ocean"] == (
        "salinity (time: 3, lat: 2, lon: 4) temperature (time: 3, lat: 2, lon: 4)",
        (
            "* lat (lat: 2) * lat_bounds (lat: 2, bounds: 2) * lon (lon: 4) "
            "* lon_bounds (lon: 4, bounds: 2) * time (time: 3) "
            "salinity (time: 3, lat: 2, lon: 4) temperature (time: 3, lat: 2, lon: 4)"
        ),
    )
    assert found["/scene"] == (
        "red (y: 3, x: 4)",
        "* spatial_ref () * x (x: 4) * y (y: 3) red (y: 3, x: 4)",
    )
    assert "* latitude (row: 3, column: 4)" in found["/swath/data"][1]
    assert "*" not in found["/swath/data"][0]


def test_what_is_unusual(shown: str) -> None:
    found = rows(shown)
    assert found["/buoy"][0] == found["/buoy"][1]
    # The error of a _FillValue in plain JSON is the same in all supported versions.
    assert found["/satellite"][0] == "Error: Incorrect padding"
    assert "echoes (phony_dim_0: 2, phony_dim_1: 5)" in found["/radar"][1]
    assert found["/model"][1] == "/: *x, *y, height /coarse: *x_coarse, *y_coarse, height"
    for group in ("/satellite", "/radar", "/model", "/"):
        assert "Error: " in found[group][0]
        assert "Error: " not in found[group][1]
    assert "/radar: echoes /satellite: *x, *y, sst" in found["/"][1]


def test_the_script_writes_the_store_of_the_package(tmp_path: Path) -> None:
    script("make_demo_store").write(tmp_path / "demo.zarr")
    assert files(tmp_path / "demo.zarr") == files(demo.STORE)


def test_coordinates_are_those_that_were_meant() -> None:
    store = demo.STORE
    ocean = xr.open_dataset(store, engine="xgroup", group="ocean")
    assert set(ocean.data_vars) == {"salinity", "temperature"}
    np.testing.assert_array_equal(ocean["lat"], [44, 42])
    np.testing.assert_array_equal(ocean["lon_bounds"][0], [-20, -18])
    days = [cftime.DatetimeNoLeap(2028, *day) for day in ((2, 27), (2, 28), (3, 1))]
    assert ocean["time"].values.tolist() == days
    scene = xr.open_dataset(store, engine="xgroup", group="scene")
    np.testing.assert_array_equal(scene["y"], [5099995, 5099985, 5099975])
    assert scene["red"].attrs["grid_mapping"] == "spatial_ref"
    swath = xr.open_dataset(store, engine="xgroup", group="swath/data")
    places = xr.open_dataset(store, engine="zarr", group="swath/geolocation", consolidated=False)
    np.testing.assert_array_equal(swath["brightness"]["latitude"], places["latitude"])
    assert swath["longitude"].attrs["standard_name"] == "longitude"


def test_warnings_stand_in_the_end(shown: str) -> None:
    assert re.findall(r"^(\w+Warning):", shown, re.MULTILINE) == [
        "XGroupDimensionWarning",
        "XGroupDimensionWarning",
        "XGroupNoPrincipalWarning",
    ]


def lines_at(monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["demo"]) == 0
    return stream.text.splitlines()


@pytest.mark.parametrize("width", [40, 79, 120])
def test_no_line_is_wider_than_the_page(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    assert max(map(len, lines_at(monkeypatch, width))) <= width


def test_colours_change_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(_group: str, engine: str) -> Any:
        # Which trouble engine zarr tells first is now one, now another.
        return ValueError("an error") if engine == "zarr" else xr.Dataset({"a": 1})

    def shown(*, terminal: bool) -> str:
        stream = Stream(terminal=terminal)
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["demo"]) == 0
        return stream.text

    monkeypatch.setattr(demo, "opened", opened)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    plain, coloured = shown(terminal=False), shown(terminal=True)
    assert "\x1b" not in plain
    assert coloured != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("100", 100), ("300", 120)])
def test_page_is_as_wide_as_the_terminal_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch, columns: str, width: int
) -> None:
    assert max(map(len, lines_at(monkeypatch, int(columns)))) == width


def test_command_prints_the_demonstration(completed: subprocess.CompletedProcess[str]) -> None:
    assert completed.returncode == 0
    assert completed.stderr == ""
    assert 'engine="xgroup"' in completed.stdout
