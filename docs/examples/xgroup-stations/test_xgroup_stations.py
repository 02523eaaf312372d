"""Test that a store with this convention opens with its coordinate.

Run `pip install -e ".[test]"`, then `pytest`.
"""

from pathlib import Path

import xarray as xr
import zarr
from xgroup_stations import StationsHandler


def test_station_numbers(tmp_path: Path) -> None:
    """Select by the number of a station."""
    root = zarr.create_group(tmp_path / "rivers.zarr", zarr_format=3)
    numbers = root.create_array(
        "catalogue/numbers", shape=(3,), dtype="int64", dimension_names=("station",)
    )
    numbers[...] = [101, 102, 205]
    root.create_array(
        "rivers/discharge",
        shape=(2, 3),
        dtype="float64",
        dimension_names=("time", "station"),
        attributes={
            "zarr_conventions": [{"name": "stations", "uuid": StationsHandler.uuid}],
            "stations": {"node": "/catalogue/numbers"},
        },
    )
    rivers = xr.open_dataset(tmp_path / "rivers.zarr", engine="xgroup", group="rivers")
    assert rivers.discharge.sel(station=205).shape == (2,)
