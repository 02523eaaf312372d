"""The demo: the table of both engines, warnings and next steps."""

import re
import shlex
import subprocess
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

_COMMAND = re.compile(r"  \S+ (-m zarr_xgroup )?(explain|check) ")


def without_commands(text: str) -> str:
    """Return the output without the lines that are not wrapped."""
    return "\n".join(line for line in text.splitlines() if not _COMMAND.match(line))


def printed(monkeypatch: pytest.MonkeyPatch, width: int, *, terminal: bool = False) -> str:
    """Run the command, and return its output."""
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["demo"]) == 0
    return stream.text


def test_both_engines_are_shown_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = without_commands(printed(monkeypatch, 80)).splitlines()
    assert max(map(len, shown)) <= 80
    assert len(shown) <= 42
    assert not re.search(r"\w\.\.\.|\.\.\.\w", "\n".join(shown)), "a word is cut"
    head = next(line for line in shown if 'engine="zarr"' in line)
    starts = [head.index(word) for word in ("group", 'engine="zarr"', 'engine="xgroup"')]
    found: dict[str, tuple[str, str]] = {}
    group = ""
    for line in shown[shown.index(head) + 2 :]:
        if line.startswith("Engine xgroup warns"):
            break
        cells = [line[start:end] for start, end in zip(starts, [*starts[1:], 80], strict=True)]
        name, theirs, ours = (" ".join(cell.split()) for cell in cells)
        group = name or group
        before = found.get(group, ("", ""))
        found[group] = f"{before[0]} {theirs}".strip(), f"{before[1]} {ours}".strip()
    assert tuple(found) == demo.GROUPS
    assert found["/ocean"][1] == (
        "coords: *lat, *lon, *time, lat_bounds, lon_bounds data: salinity, temperature"
    )
    assert found["/scene"] == (
        "data: red",
        "coords: *x, *y, spatial_ref CRS: EPSG:32632 data: red",
    )
    # The error of a _FillValue in plain JSON is the same in all supported versions.
    assert found["/satellite"][0] == "fails: binascii.Error"
    assert found["/buoy"][0] == found["/buoy"][1]
    assert found["/model"][1] == "tree: 2 groups, 2 with data"
    assert found["/"][1] == "tree: 12 groups, 9 with data"
    failing = {name for name, (theirs, _ours) in found.items() if re.match(r"fails: \S+$", theirs)}
    assert failing == {"/satellite", "/radar", "/model", "/"}
    assert not any("fails" in ours for _theirs, ours in found.values())
    told = " ".join(" ".join(shown).split()).partition("warns about the whole store: ")[2]
    assert "/radar/echoes#/dimension_names: has no usable names" in told
    assert "Select by position (isel)" in told


@pytest.mark.parametrize("has_script", [False, True])
def test_the_last_commands_run_as_they_are_printed(
    has_script: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = str(Path(sys.executable).parent / "xgroup") if has_script else None
    monkeypatch.setattr("shutil.which", lambda _name: script)
    monkeypatch.chdir(Path(sys.executable).parent.parent)
    lines = [line for line in printed(monkeypatch, 40).splitlines() if _COMMAND.match(line)]
    commands = [shlex.split(line) for line in lines]
    assert [command[-2] for command in commands] == ["explain", "check"]
    for program, *arguments in commands:
        assert (program == "xgroup") == has_script
        if not has_script:
            assert not Path(program).is_absolute()
            run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
            assert run.returncode in (0, 1), run.stderr
            assert "/radar" in run.stdout


def test_the_script_writes_the_store_of_the_package(tmp_path: Path) -> None:
    script("make_demo_store").write(tmp_path / "demo.zarr")
    assert files(tmp_path / "demo.zarr") == files(demo.STORE)


def test_coordinates_of_the_demo_store() -> None:
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


def test_lines_fit_the_terminal_and_colours_do_not_change_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def opened(_group: str, engine: str) -> Any:
        # The first error of engine zarr varies.
        return ValueError("an error") if engine == "zarr" else xr.Dataset({"a": 1})

    monkeypatch.setattr(demo, "opened", opened)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for width in (40, 60, 100):
        plain = printed(monkeypatch, width)
        assert max(map(len, without_commands(plain).splitlines())) == width
        assert "\x1b" not in plain
        coloured = printed(monkeypatch, width, terminal=True)
        assert coloured != plain
        assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
