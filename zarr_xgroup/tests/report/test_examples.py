"""Examples of each convention, in each way in which it may be followed, have no error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import zarr_xgroup
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import ZARR, Json, declaring
from zarr_xgroup.tests.documents import STORES as STORES_OF_TESTS
from zarr_xgroup.tests.documents import array, group, write
from zarr_xgroup.tests.report.test_check import sound
from zarr_xgroup.tests.report.test_check_oracle import PROJJSON, WKT2


def others() -> dict[str, Json]:
    """Return a store that follows all conventions in the ways in which `sound` does not."""
    places = {"x": {"node": "lon"}, "y": {"node": "lat"}}
    levels = {
        "name": "depths",
        "direction": "up",
        "unit": {"uom": {"ucum": {"unit": "m"}, "description": "depth"}},
        "values": {"external": {"ref": {"node": "depth"}}},
        "parametric": {
            "formula": "ocean_sigma_coordinate",
            "terms": {"sigma": {"external": {"node": "depth"}}, "eta": {"explicit": [0.5]}},
        },
        "boundaries": {
            "external": {"node": "edges"},
            "name": "depth_edges",
            "attributes": {"long_name": "edges"},
        },
        "attributes": {"positive": "up"},
    }
    cs = {
        "name": "model",
        "id": {"proj:wkt2": WKT2},
        "attributes": {"title": "model"},
        "crs": [
            {
                "name": "WGS 84",
                "description": "horizontal",
                "axes": [
                    {"name": "y", "coordinates": [{"values": {"regular": [0, 1]}}]},
                    {"name": "x", "coordinates": [{"values": {"regular": [0, 1]}}]},
                ],
                "geolocation": {"geodetic": places},
            },
            {
                "type": "vertical",
                "axes": {
                    "z": {
                        "abbreviation": "Z",
                        "coordinates": [levels],
                        "attributes": {"standard_name": "depth"},
                    }
                },
            },
            {"ref": {"node": "/", "attribute": "/attributes/crs/years"}},
        ],
    }
    times = {"reference": "days since 2000-01-01", "calendar": "noleap"}
    years = {"coordinates": [{"time": times, "values": {"explicit": [1, 2]}}]}
    refs = [
        {"node": "depth", "attribute": "/attributes"},
        {"ref": {"node": "lat", "uri": "file:///nowhere.zarr"}},
    ]
    coordinates = {
        "lat": {"indexed_by": ["y"], "type": "space", "coords": {"type": "array", "path": "y"}}
    }
    axes = {
        "t": {
            "axis": "x",
            "unit": "m",
            "description": "positions",
            "coords": {"type": "inline", "values": [1.0, 2.0]},
        },
        "y": {"coords": {"type": "reference", "convention": "spatial"}},
    }
    cells = {
        "name": "healpix",
        "refinement_level": 1,
        "spatial_dimension": "cells",
        "coordinate": "ids",
        "compression": "none",
        "ellipsoid": {"name": "unit", "semimajor_axis": 1.0, "inverse_flattening": 298.25},
    }
    both = {"geodetic": places, "planar": {**places, "id": {"proj:projjson": PROJJSON}}}
    crs = {"years": {"type": "temporal", "axes": {"year": years}}}
    return {
        "": group(declaring("cs", "ref", "proj", crs=crs)),
        "a": array((2, 3, 4, 5), ("year", "z", "y", "x"), declaring("cs", "ref", cs=cs)),
        "r": array((3,), ("z",), declaring("ref", ref=refs)),
        "c": array(
            (2, 4),
            ("t", "y"),
            {
                **declaring("coords", "spatial"),
                "dimensions:axes": axes,
                "dimensions:coordinates": coordinates,
            },
        ),
        "d": array((3,), ("cells",), declaring("dggs", dggs=cells)),
        "g": array((4, 5), ("y", "x"), declaring("geolocation", geolocation=both)),
        "p": array((4, 5), ("y", "x"), {**declaring("proj"), "proj:projjson": PROJJSON}),
        "w": array((4, 5), ("y", "x"), {**declaring("proj"), "proj:wkt2": WKT2}),
        "depth": array((3,), ("z",)),
        "edges": array((2, 3), ("bounds", "z")),
        "ids": array((3,), ("cells",), {}, "int64"),
        "y": array((4,), ("y",)),
        **{name: array((4, 5), ("y", "x")) for name in ("lon", "lat")},
    }


STORES = {"sound": sound(), "others": others()}


#: What examples have errors of that are meant to: arrays without names of dimensions, a store elsewhere, and a
#: declaration for the sake of a descriptor that names the convention.
MEANT = {"arrays/dimension-names", "ref/leads-somewhere", "conventions/used"}
EXAMPLES: dict[str, Any] = {
    **{name: STORES_OF_TESTS / f"{name}.zarr" for name in ("cs_test", "geolocation_test")},
    **{name: STORES_OF_TESTS / f"{name}.zarr" for name in ("roms_test", "spatial_test")},
    "demo": Path(zarr_xgroup.__file__).parent / "demo.zarr",
    **STORES,
    **dict.fromkeys(products.PRODUCTS),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_example_has_an_error(tmp_path: Path, name: str) -> None:
    store = EXAMPLES[name]
    if isinstance(store, dict):
        store = write(tmp_path, store)
    elif store is None:
        store = products.write(name, tmp_path)
    told = {it.rule.name for it in zarr_xgroup.check(store).mistakes if it.severity == "error"}
    if Version("3.1") > ZARR:
        told.discard("open/metadata")  # strings of fixed length, which it does not know
    assert told <= MEANT
