"""The demonstration: what it prints of the store of the package."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import demo
from zarr_xgroup.cli import main
from zarr_xgroup.tests.documents import files, script
from zarr_xgroup.tests.explanations import Stream
from zarr_xgroup.tests.tables import check


def printed(monkeypatch: pytest.MonkeyPatch, width: int, *, terminal: bool = False) -> str:
    """Run the command, and return what it prints."""
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["demo"]) == 0
    return stream.text


def test_what_both_engines_give_and_warnings_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = printed(monkeypatch, 300)
    assert max(map(len, shown.splitlines())) == 120
    found: dict[str, tuple[str, str]] = {}
    group = ""
    for line in shown.splitlines():
        if line.startswith("│ "):
            name, theirs, ours = (it.strip() for it in line.split("│")[1:4])
            group = name or group
            given = found.get(group, ("", ""))
            found[group] = f"{given[0]} {theirs}".strip(), f"{given[1]} {ours}".strip()
    assert tuple(found) == demo.GROUPS
    assert found["/scene"] == (
        "red (y: 3, x: 4)",
        "* spatial_ref () * x (x: 4) * y (y: 3) red (y: 3, x: 4)",
    )
    # The error of a _FillValue in plain JSON is the same in all supported versions.
    assert found["/satellite"][0] == "Error: Incorrect padding"
    assert found["/buoy"][0] == found["/buoy"][1]
    assert found["/model"][1] == "/: *x, *y, height /coarse: *x_coarse, *y_coarse, height"
    assert "/radar: echoes /satellite: *x, *y, sst" in found["/"][1]
    failing = {name for name, (theirs, _ours) in found.items() if "Error: " in theirs}
    assert failing == {"/satellite", "/radar", "/model", "/"}
    assert not any("Error: " in ours for _theirs, ours in found.values())
    assert re.findall(r"^(\w+Warning):", shown, re.MULTILINE) == [
        "XGroupDimensionWarning",
        "XGroupDimensionWarning",
        "XGroupNoPrincipalWarning",
    ]


def test_the_script_writes_the_store_of_the_package(tmp_path: Path) -> None:
    script("make_demo_store").write(tmp_path / "demo.zarr")
    assert files(tmp_path / "demo.zarr") == files(demo.STORE)


def test_coordinates_are_those_that_were_meant() -> None:
    ocean = """
        lat (lat) 44.0 42.0 | axis=Y bounds=lat_bounds standard_name=latitude units=degrees_north
        lat_bounds (lat bounds) [[43.0 45.0] [41.0 43.0]]
        lon (lon) -19.0 -17.0 -15.0 -13.0 | axis=X bounds=lon_bounds standard_name=longitude units=degrees_east
        lon_bounds (lon bounds) [[-20.0 -18.0] [-18.0 -16.0] [-16.0 -14.0] [-14.0 -12.0]]
        time (time) noleap:2028-02-27 noleap:2028-02-28 noleap:2028-03-01 | axis=T standard_name=time
    """
    scene = """
        y (y) 5099995.0 5099985.0 5099975.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        red (y x) @ spatial_ref x y | grid_mapping=spatial_ref units=1
    """
    check(demo.STORE, ocean, group="ocean", only="coords")
    check(demo.STORE, scene, group="scene", only="y red")
    swath = xr.open_dataset(demo.STORE, engine="xgroup", group="swath/data")
    places = xr.open_dataset(
        demo.STORE, engine="zarr", group="swath/geolocation", consolidated=False
    )
    np.testing.assert_array_equal(swath["brightness"]["latitude"], places["latitude"])


def test_lines_are_as_wide_as_the_terminal_and_colours_change_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def opened(_group: str, engine: str) -> Any:
        # Which trouble engine zarr tells first is now one, now another.
        return ValueError("an error") if engine == "zarr" else xr.Dataset({"a": 1})

    monkeypatch.setattr(demo, "opened", opened)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for width in (40, 60, 100):
        plain = printed(monkeypatch, width)
        assert max(map(len, plain.splitlines())) == width
        assert "\x1b" not in plain
        coloured = printed(monkeypatch, width, terminal=True)
        assert coloured != plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
