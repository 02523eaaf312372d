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


def columns(shown: str, side: int) -> str:
    """Return what stands in the left (0) or right (1) column."""
    rows = [re.split(r" [│|] ?", line) for line in shown.splitlines() if re.search(" [│|]", line)]
    return "\n".join(row[side].rstrip() for row in rows)


def test_both_engines_stand_side_by_side(shown: str) -> None:
    assert columns(shown, 0).count('engine="zarr"') == len(demo.comparisons())
    assert columns(shown, 1).count('engine="xgroup"') == len(demo.comparisons())


def test_engine_zarr_column_shows_its_errors(shown: str) -> None:
    # The error of a _FillValue in plain JSON is the same in all supported versions.
    assert "binascii.Error: Incorrect padding" in columns(shown, 0)
    assert "Error" not in columns(shown, 1)


def test_engine_xgroup_column_shows_everything(shown: str) -> None:
    ours = columns(shown, 1)
    assert "sst (y: 3, x: 4) float64" in ours
    assert "echoes (phony_dim_0: 2, phony_dim_1: 5)" in ours
    assert "height (y_coarse: 2, x_coarse: 3)" in ours
    assert re.findall(r"^/\S*", ours, re.MULTILINE)[-12:] == [
        "/",
        "/axes",
        "/buoy",
        "/model",
        "/ocean",
        "/radar",
        "/satellite",
        "/scene",
        "/swath",
        "/model/coarse",
        "/swath/data",
        "/swath/geolocation",
    ]


def test_what_conventions_declare_comes_first(shown: str) -> None:
    first = shown.partition("4. xr.open_dataset")[0]
    theirs, ours = columns(first, 0), columns(first, 1)
    assert re.findall("^Dimensions without coordinates: .*", theirs, re.MULTILINE) == [
        "Dimensions without coordinates: time, lat, lon",
        "Dimensions without coordinates: y, x",
        "Dimensions without coordinates: row, column",
    ]
    assert "*" not in theirs
    flat = " ".join(ours.split())
    for line in (
        "* lat (lat: 2) float64 44.0 .. 42.0 degrees_north",
        "* lon_bounds (lon: 4, bounds: 2) float64 * time",
        "* time (time: 3) object 2028-02-27 .. 2028-03-01 salinity",
        "* spatial_ref () int64 transverse_mercator",
        "* x (x: 4) float64 600005.0 .. 600035.0",
        "* latitude (row: 3, column: 4) float64 60.0 .. 58.75 degrees_north",
    ):
        assert line in flat


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


def test_verdicts(shown: str) -> None:
    verdicts = re.findall("^=> (.*)", shown, re.MULTILINE)
    assert [verdict.partition(" Only ")[0] for verdict in verdicts[:3]] == ["Both open it."] * 3
    assert verdicts[1].endswith("attaches spatial_ref, x, y.")
    assert verdicts[3:] == ["Identical.", *["Only engine xgroup opens it."] * 4]


def test_differences_stand_above_and_warnings_in_the_end(shown: str) -> None:
    page, _heading, end = shown.partition("in warnings\n")
    assert re.findall(r"^- (\w+):", end, re.MULTILINE) == [
        "XGroupDimensionWarning",
        "XGroupDimensionWarning",
        "XGroupNoPrincipalWarning",
    ]
    sentences = " ".join(page.split())
    assert all(difference in sentences for difference in demo.comparisons().values())


def lines_at(monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Stream()
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["demo"]) == 0
    return stream.text.splitlines()


@pytest.mark.parametrize("width", [40, 79, 120])
def test_no_line_is_wider_than_the_page(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    assert max(map(len, lines_at(monkeypatch, width))) <= width


def test_narrow_page_has_one_column_below_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = lines_at(monkeypatch, 60)
    assert lines.count('engine="zarr"') == lines.count('engine="xgroup"')
    assert not any("│" in line for line in lines)
    assert "    echoes (phony_dim_0: 2, phony_dim_1: 5) int64" in lines


def test_colours_change_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def attempt(_function: str, _group: str, engine: str) -> tuple[Any, list[str]]:
        # Which trouble engine zarr tells first is now one, now another.
        return (ValueError("an error") if engine == "zarr" else xr.Dataset()), []

    def shown(*, terminal: bool) -> str:
        stream = Stream(terminal=terminal)
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["demo"]) == 0
        return stream.text

    monkeypatch.setattr(demo, "attempt", attempt)
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
    assert "─" * width in lines_at(monkeypatch, int(columns))


def test_error_is_shown_with_its_cause_and_without_the_quotes_of_a_key_error() -> None:
    error = KeyError("no such thing\nand more")
    error.__cause__ = ValueError()
    assert list(demo._error_lines(error)) == ["KeyError: no such thing", "ValueError: "]


def test_command_prints_the_demonstration(completed: subprocess.CompletedProcess[str]) -> None:
    assert completed.returncode == 0
    assert completed.stderr == ""
    assert "Only engine xgroup opens it." in completed.stdout
