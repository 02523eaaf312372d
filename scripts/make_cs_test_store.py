"""Write a small Zarr store whose arrays declare their coordinates with the `cs` convention.

Each group shows one topic: the forms of axes, of values, of times, the places of a coordinate reference
system (CRS), and other conventions. If versions of the conventions differ, the store has both forms.
"""

from typing import Any

import numpy as np
from store_tools import below, run, writer_of

from zarr_xgroup.tests.builders import Array, Group, Json, Nodes, declaring

WGS84 = {"proj:code": "EPSG:4326"}

#: Forms of units of time.
UNITS_OF_TIME = (
    *("seconds", "second", "s", "ms", "us", "ns", "millisecond", "microseconds"),
    *("minutes", "minute", "m", "hours", "hour", "h", "days", "day", "d", "Days"),
)
#: Forms of an epoch by the name of its axis, followed by the calendar if it matters.
EPOCHS: dict[str, tuple[str, ...]] = {
    "epoch_date": ("2000-01-02",),
    "epoch_short": ("2000-1-2",),
    "epoch_space": ("2000-01-02 06:30",),
    "epoch_t": ("2000-01-02T06:30:00",),
    "epoch_z": ("2000-01-02T06:30:00Z",),
    "epoch_offset": ("2000-01-02T06:30:00+02:00",),
    "epoch_compact_offset": ("2000-01-02T06:30:00-0130",),
    "epoch_hours_offset": ("2000-01-02 06:30:00 +2",),
    "epoch_fraction": ("2000-01-02T06:30:00.5Z",),
    "epoch_30_february": ("2026-02-30", "360_day"),
    "epoch_29_february": ("2026-02-29", "all_leap"),
    "epoch_z_noleap": ("2000-01-02T06:30:00Z", "noleap"),
    "epoch_offset_360_day": ("2000-01-02T06:30:00+02:00", "360_day"),
}
CALENDARS = (
    *("standard", "gregorian", "proleptic_gregorian", "julian"),
    *("noleap", "365_day", "all_leap", "366_day", "360_day"),
)


def make_nodes() -> Nodes:
    """Return all nodes by their paths, groups before their members."""
    shared = {
        "WGS84": {"axes": {"lon": _lon(), "lat": _lat()}, "id": WGS84},
        "month": {"type": "temporal", "axes": [{"name": "time", **_time_at({"node": "time"})}]},
        "month_by_group": {"axes": {"time": _time_at({"node": "../time"})}},
        "month_by_node": {"axes": {"time": _time_at({"node": "../../time"})}},
    }
    return {
        "": Group(attrs=declaring("cs", "ref", title="Coordinate sets of all kinds", crs=shared)),
        # Not a dimension coordinate: its dimension has a different name.
        "time": Array([15.5, 45.0, 74.5], ("time_coord",)),
        **below("axes", _axes()),
        **below("values", _values()),
        **below("sets", _sets()),
        **below("scalars", _scalars()),
        **below("times", _times()),
        **below("bounds", _bounds()),
        **below("parametric", _parametric()),
        **below("described", _described()),
        **below("references", _references()),
        **below("identified", _identified()),
        **below("services", _services()),
        **below("sharing", _sharing()),
        **below("collisions", _collisions()),
        "coarse": Group(),
        "coarse/grid": Array(_numbers(2, 2), ("cell", "z")),
    }


# Pieces of documents.


def _cs(*systems: Json, also: tuple[str, ...] = (), **more: Any) -> Json:
    return declaring("cs", *also, cs={"crs": list(systems), **more})


def _axis(abbreviation: str | None, *sets: Json, **more: Any) -> Json:
    axis: Json = {} if abbreviation is None else {"abbreviation": abbreviation}
    return {**axis, **more, "coordinates": list(sets)}


def _along(name: str, values: Json, **more: Any) -> Json:
    """Return attributes of an array with one axis and one coordinate set."""
    return _cs({"axes": {name: _axis(None, {"values": values, **more})}})


def _lon() -> Json:
    values = {"values": {"regular": [-10.0, 5.0]}, "boundaries": {"regular": [-2.5, 2.5]}}
    return _axis("X", {"direction": "east", "unit": "degrees", **values})


def _lat() -> Json:
    values = {"values": {"explicit": [50.0, 51.5, 54.0, 60.0]}}
    return _axis("Y", {"unit": "degrees", **values}, direction="NORTH")


def _time_at(reference: Json) -> Json:
    time = {"unit": "days", "epoch": "2026-01-01", "calendar": "noleap"}
    values = {"external": reference}
    return _axis("T", {"direction": "future", "time": time, "values": values})


def _numbers(*shape: int, first: float = 0.0) -> np.ndarray[Any, Any]:
    """Return consecutive numbers as the values of a field."""
    return first + np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)


# The groups.


def _axes() -> Nodes:
    """Return the same axes as an object, as a list, and with members at different places."""
    lon, lat = _lon()["coordinates"][0], _lat()["coordinates"][0]
    without_direction = {key: value for key, value in lon.items() if key != "direction"}
    listed = [
        {"name": "lon", **_axis("X", without_direction, direction="EAST")},
        {"name": "lat", **_axis("Y", {"direction": "North", **lat})},
    ]
    keyed = {"lon": _lon(), "lat": _lat()}
    return {
        "": Group(),
        "keyed": Array(_numbers(4, 5), ("lat", "lon"), _cs({"axes": keyed, "id": WGS84})),
        "listed": Array(
            _numbers(4, 5, first=100), ("lat", "lon"), _cs({"axes": listed, "name": "WGS 84"})
        ),
        "swapped": Array(_numbers(5, 4, first=200), ("lon", "lat"), _cs({"axes": keyed}, id=WGS84)),
        "row": Array(_numbers(5), ("lon",), _cs({"axes": {"lon": _lon()}, "id": WGS84})),
    }


def _values() -> Nodes:
    """Return arrays with one axis each, and values of all kinds."""
    inline: dict[str, Json] = {
        "integers": {"regular": [10, 5]},
        "floats": {"regular": [0.5, 0.1]},
        "mixed": {"regular": [1, 0.5]},
        "descending": {"regular": [90, -30]},
        "whole": {"explicit": [1, 2, 4, 8]},
        "decimals": {"explicit": [0.25, 1, 10, 100]},
        "words": {"explicit": ["sand", "silt", "clay", "größer"]},
    }
    external: dict[str, Json] = {
        "depth": {"external": {"node": "sources/depth"}},
        "age": {"external": {"ref": {"node": "../sources/age"}}},
        "code": {"ref": {"external": {"node": "/values/sources/code"}}},
        "level": {"external": {"node": "level"}},
        "height": {"external": {"node": "../height"}},
    }
    fields = {
        f"along_{name}": Array(_numbers(4), (name,), _along(name, values))
        for name, values in (inline | external).items()
    }
    packed = {"scale_factor": 0.5, "add_offset": 10.0, "units": "km"}
    return {
        "": Group(),
        **fields,
        "level": Array(np.array([1000, 850, 500, 200], np.int32), ("level",), {"units": "hPa"}),
        "height": Array([2.0, 10.0, 50.0, 100.0], ("height",), {"long_name": "height"}),
        "sources": Group(),
        "sources/depth": Array([0.5, 1.5, 3.0, 7.0], ("depth_coord",), {"units": "m"}),
        "sources/age": Array(np.array([0, 1, 2, 3], np.int16), ("age_coord",), packed),
        "sources/code": Array(np.array([7, 5, 3, 1]), ("anything",)),
    }


def _sets() -> Nodes:
    """Return an axis with several coordinate sets, and axes without any."""
    point = _axis(
        None,
        {"values": {"regular": [1, 1]}},
        {"name": "distance", "unit": "km", "values": {"explicit": [0.0, 2.5, 4.0]}},
        {"values": {"explicit": ["start", "middle", "end"]}},
        {"name": "depth", "values": {"external": {"node": "sources/bottom"}}},
    )
    ordinal = {"index": {"abbreviation": "X"}, "rank": {"coordinates": []}}
    return {
        "": Group(),
        "track": Array(_numbers(3), ("point",), _cs({"axes": {"point": point}})),
        "ordinal": Array(_numbers(4, 2), ("index", "rank"), _cs({"axes": ordinal})),
        "sources": Group(),
        "sources/bottom": Array([12.0, 30.0, 21.0], ("along_track",), {"units": "m"}),
    }


def _scalars() -> Nodes:
    """Return axes of one value, mostly not dimensions of the array."""
    time = {"unit": "days", "epoch": "2026-02-30", "calendar": "360_day"}
    height = {"unit": "m", "values": {"explicit": [2.0]}, "boundaries": {"regular": [-2, 0]}}
    axes = {
        "cell": {},
        "realization": _axis(None, {"values": {"explicit": [7]}}),
        "height": _axis("Z", height, direction="up"),
        "member": _axis(None, {"values": {"explicit": ["r1i1p1f1"]}}),
        "reference_time": _axis("T", {"time": time, "values": {"explicit": [1]}}),
    }
    pressure = _axis("Z", {"values": {"explicit": [850]}, "unit": "hPa"}, direction="Down")
    references = {
        "wavelength": ("wavelength", "wavelength_edges"),
        "layer": ("layer", "layer_edges"),
        "band": ("band", "band_edges"),
    }
    for name, (values, edges) in references.items():
        axes[name] = _axis(
            None,
            {
                "values": {"external": {"node": f"sources/{values}"}},
                "boundaries": {"external": {"node": f"sources/{edges}"}},
            },
        )
    return {
        "": Group(),
        "tas": Array(
            _numbers(3, 1),
            ("cell", "realization"),
            _cs({"axes": axes}, {"axes": {"pressure": pressure}}),
        ),
        "sources": Group(),
        "sources/wavelength": Array(0.55, (), {"units": "um"}),
        "sources/wavelength_edges": Array([0.5, 0.6], ("nv",)),
        "sources/layer": Array([3], ("one",)),
        "sources/layer_edges": Array([[2.5, 3.5]], ("one", "nv")),
        "sources/band": Array([8], ("one",)),
        "sources/band_edges": Array([[7.5], [8.5]], ("nv", "one")),
    }


def _times() -> Nodes:
    """Return times with all units, all forms of an epoch, and all calendars."""
    units = {
        f"in_{unit}": {"time": {"unit": unit, "epoch": "2000-01-01"}} for unit in UNITS_OF_TIME
    }
    units["in_months"] = {
        "time": {"unit": "months", "epoch": "2000-01-01", "calendar": "360_day"},
    }
    epochs: dict[str, Json] = {}
    for name, (epoch, *calendar) in EPOCHS.items():
        since = {"unit": "days", "epoch": epoch}
        epochs[name] = {"time": {**since, "calendar": calendar[0]} if calendar else since}
    references = {
        "reference": {"reference": "days since 1850-01-01", "calendar": "noleap"},
        "reference_t": {"reference": "Hours  since 2000-01-01T06:00:00Z"},
        "reference_short": {"reference": "d since 2000-1-1"},
    }
    epochs |= {name: {"time": reference} for name, reference in references.items()}
    arrays = {
        "units": Array(1.0, (), _cs(*_scalar_times(units, 90))),
        "epochs": Array(1.0, (), _cs(*_scalar_times(epochs, 1))),
    }
    time = {"unit": "days", "epoch": "2000-01-01"}
    for calendar_name in (*CALENDARS, None):
        declared = time if calendar_name is None else {**time, "calendar": calendar_name}
        name = calendar_name or "none"
        attributes = _along(f"t_{name}", {"regular": [59, 1]}, time=declared)
        arrays[f"calendar_{name}"] = Array(_numbers(3), (f"t_{name}",), attributes)
    for name in ("t_bare", "t_own"):
        values = {"external": {"node": f"sources/{name}"}}
        arrays[f"external_{name}"] = Array(
            _numbers(3), (name,), _along(name, values, time=time, direction="future")
        )
    own = {"units": "hours since 2001-01-01", "calendar": "standard"}
    return {
        "": Group(),
        **arrays,
        "sources": Group(),
        "sources/t_bare": Array(np.array([0, 1, 2]), ("t_coord",)),
        "sources/t_own": Array(np.array([0, 1, 2]), ("t_coord",), own),
    }


def _scalar_times(sets: dict[str, Json], value: int) -> list[Json]:
    """Return a CRS for each time, because a CRS has only one axis with abbreviation T."""
    return [
        {"axes": {name: _axis("T", {**item, "values": {"explicit": [value]}})}}
        for name, item in sets.items()
    ]


def _bounds() -> Nodes:
    """Return boundaries as offsets, and stored as (n, 2) and (2, n)."""
    external = {
        "n2": {"external": {"node": "sources/n2_edges"}},
        "twon": {"external": {"ref": {"node": "../sources/twon_edges"}}, "name": "twon_edges"},
        "first": {"ref": {"external": {"node": "sources/first_edges"}}},
        "last": {"external": {"node": "sources/last_edges"}},
        "untold": {"external": {"node": "sources/untold_edges"}},
    }
    length = {"n2": 3, "twon": 3, "first": 2, "last": 2, "untold": 2}
    fields = {
        f"along_{name}": Array(
            _numbers(length[name]),
            (name,),
            _along(name, {"regular": [10, 10]}, boundaries=boundaries),
        )
        for name, boundaries in external.items()
    }
    time = {"unit": "days", "epoch": "2000-01-01", "calendar": "360_day"}
    offsets: dict[str, tuple[Json, Json]] = {
        "whole": ({"regular": [0, 10]}, {"regular": [-5, 5]}),
        "half": ({"regular": [0, 1]}, {"regular": [-0.5, 0.5], "name": "half_cells"}),
        "listed": (
            {"explicit": [1.0, 2.0, 4.0]},
            {"regular": [0, 1.5], "attributes": {"comment": "upwards only"}},
        ),
        "stored": ({"external": {"node": "sources/packed"}}, {"regular": [-0.25, 0.25]}),
    }
    for name, (values, boundaries) in offsets.items():
        attributes = _along(name, values, boundaries=boundaries)
        fields[f"along_{name}"] = Array(_numbers(3), (name,), attributes)
    fields["along_day"] = Array(
        _numbers(3),
        ("day",),
        _along("day", {"regular": [0.5, 1]}, boundaries={"regular": [-0.5, 0.5]}, time=time),
    )
    month: Json = {
        "values": {"external": {"node": "month"}},
        "boundaries": {"external": {"node": "month_bnds"}},
        "time": time,
    }
    fields["along_month"] = Array(_numbers(3), ("month",), _along("month", **month))
    own: Json = {
        "values": {"external": {"node": "own"}},
        "boundaries": {"external": {"node": "own_edges"}},
    }
    fields["along_own"] = Array(_numbers(3), ("own",), _along("own", **own))
    return {
        "": Group(),
        **fields,
        "own": Array([1.0, 2.0, 3.0], ("own",)),
        "own_edges": Array([[0.5, 1.5], [1.5, 2.5], [2.5, 3.5]], ("own", "nv")),
        "month": Array([15.0, 45.0, 75.0], ("month",)),
        "month_bnds": Array([[0.0, 30.0, 60.0], [30.0, 60.0, 90.0]], ("bnds", "month")),
        "sources": Group(),
        "sources/n2_edges": Array([[5.0, 15.0], [15.0, 25.0], [25.0, 35.0]], ("cell", "nv")),
        "sources/twon_edges": Array([[5.0, 15.0, 25.0], [15.0, 25.0, 35.0]], ("nv", "cell")),
        "sources/first_edges": Array([[5.0, 15.0], [15.0, 25.0]], ("first", "nv")),
        "sources/last_edges": Array([[5.0, 15.0], [15.0, 25.0]], ("nv", "last")),
        "sources/untold_edges": Array([[5.0, 15.0], [15.0, 25.0]], ("a", "b")),
        "sources/packed": Array(
            np.array([0, 2, 4], np.int16),
            ("cell",),
            {"scale_factor": 0.5, "add_offset": 100.0},
        ),
    }


def _parametric() -> Nodes:
    """Return terrain-following levels with stored terms, and with inline terms."""
    stored = {
        "s": {"external": {"node": "../grid/s_rho"}},
        "C": {"external": {"ref": {"node": "../grid/Cs_r"}}},
        "eta": {"ref": {"external": {"node": "zeta"}}},
        "depth": {"external": {"node": "../grid/h"}},
        "depth_c": {"external": {"node": "../grid/hc"}},
    }
    inline = {
        "s": {"regular": [-0.75, 0.5]},
        "C": {"explicit": [-0.6, -0.1]},
        "eta": {"external": {"node": "zeta"}},
        "depth": {"external": {"node": "../grid/h"}},
        "depth_c": {"explicit": [250.0]},
    }
    formula = "ocean_s_coordinate_g2"
    rho = {
        "unit": "1",
        "values": {"external": {"node": "../grid/s_rho"}},
        "parametric": {"formula": formula, "terms": stored},
    }
    w = {
        "unit": "1",
        "values": {"regular": [-0.75, 0.5]},
        "parametric": {"formula": formula, "terms": inline},
    }
    positions = {"parametric": {"formula": "atmosphere_hybrid_height_coordinate", "terms": {
        "a": {"explicit": [20.0, 80.0, 180.0]},
        "b": {"explicit": [0.99, 0.97, 0.93]},
        "orog": {"external": {"node": "../grid/orog"}},
    }}}  # fmt: skip
    plane = {"eta_rho": {"abbreviation": "Y"}, "xi_rho": {"abbreviation": "X"}}
    dims = ("ocean_time", "eta_rho", "xi_rho")
    axes = {"ocean_time": {"abbreviation": "T"}, **plane}
    return {
        "": Group(),
        "grid": Group(),
        "grid/s_rho": Array([-0.8, -0.5, -0.2], ("s_rho",)),
        "grid/Cs_r": Array([-0.5, -0.2, -0.05], ("s_rho",)),
        "grid/h": Array(
            [[100.0, 200.0], [300.0, 400.0]],
            ("eta_rho", "xi_rho"),
            {"units": "m", "standard_name": "sea_floor_depth_below_geoid"},
        ),
        "grid/orog": Array(
            [[0.0, 500.0], [1000.0, 2000.0]],
            ("eta_rho", "xi_rho"),
            {"units": "m", "standard_name": "surface_altitude"},
        ),
        "grid/hc": Array(250.0, (), {"units": "m"}),
        "ocean": Group(),
        "ocean/zeta": Array(
            _numbers(2, 2, 2) / 10,
            dims,
            {**_cs({"axes": axes}), "standard_name": "sea_surface_height_above_geoid"},
        ),
        "ocean/temp": Array(
            _numbers(2, 3, 2, 2),
            ("ocean_time", "s_rho", "eta_rho", "xi_rho"),
            _cs({"axes": {**axes, "s_rho": _axis("Z", rho, direction="up")}}),
        ),
        "ocean/w": Array(
            _numbers(2, 2, 2, 2),
            ("ocean_time", "s_w", "eta_rho", "xi_rho"),
            _cs({"axes": {**axes, "s_w": _axis("Z", w, direction="up")}}),
        ),
        "ocean/wind": Array(
            _numbers(3, 2, 2),
            ("lev", "eta_rho", "xi_rho"),
            _cs({"axes": {**plane, "lev": _axis("Z", positions, direction="up")}}),
        ),
    }


def _described() -> Nodes:
    """Return axes with units in all forms, and attributes at all places."""
    z = {
        "unit": "m",
        "direction": "down",
        "values": {"regular": [0, 10]},
        "boundaries": {"regular": [-5, 5], "attributes": {"comment": "of the boundaries"}},
        "attributes": {"comment": "of the set", "source": "a set"},
    }
    inner = {"comment": "of the axis", "long_name": "depth below sea level"}
    axes = {
        "z": _axis("Z", z, attributes=inner),
        "mass": _axis(None, {"unit": {"ucum": {"unit": "kg"}}, "values": {"regular": [1, 1]}}),
        "warmth": _axis(
            None, {"unit": {"uom": {"ucum": {"unit": "K"}}}, "values": {"regular": [273.0, 1.0]}}
        ),
    }
    other = {
        "stored": _axis(
            "Z",
            {
                "unit": "km",
                "values": {"external": {"node": "sources/heights"}},
                "attributes": {"long_name": "not needed", "comment": "added"},
            },
            direction="UP",
        ),
    }
    own = {"units": "m", "long_name": "its own", "positive": "down"}
    return {
        "": Group(),
        "field": Array(_numbers(2, 2, 2, 2), (*axes, *other), _cs({"axes": axes}, {"axes": other})),
        "sources": Group(),
        "sources/heights": Array([1.0, 2.0], ("heights",), own),
    }


def _references() -> Nodes:
    """Return arrays that all have the same coordinates, by references in all forms."""
    here = {
        "grid": {"axes": {"lon": _lon(), "lat": _lat()}, "id": WGS84},
        "alias": {"node": "/", "attribute": "/attributes/crs/WGS84"},
        "a/b~c": {"ref": {"node": "..", "attribute": "/attributes/crs/WGS84"}},
    }
    systems: dict[str, Json] = {
        "inline": {"axes": {"lon": _lon(), "lat": _lat()}, "id": WGS84},
        "by_sibling": {"node": "inline", "attribute": "/attributes/cs/crs/0"},
        "by_sibling_of_node": {"node": "../inline", "attribute": "/attributes/cs/crs/0"},
        "by_path": {"ref": {"node": "/references/inline", "attribute": "/attributes/cs/crs/0"}},
        "by_root": {"node": "/", "attribute": "/attributes/crs/WGS84"},
        "by_group": {"node": ".", "attribute": "/attributes/crs/grid"},
        "by_parent_of_group": {"ref": {"node": "..", "attribute": "/attributes/crs/WGS84"}},
        "by_chain": {"node": ".", "attribute": "/attributes/crs/alias"},
        "by_escaped_key": {"node": ".", "attribute": "/attributes/crs/a~1b~0c"},
    }
    months = {
        name: {"node": "/", "attribute": f"/attributes/crs/{name}"}
        for name in ("month", "month_by_group", "month_by_node")
    }
    return {
        "": Group(attrs=declaring("cs", "ref", crs=here)),
        **{
            name: Array(_numbers(4, 5), ("lat", "lon"), _cs(system, also=("ref",)))
            for name, system in systems.items()
        },
        **{
            name: Array(_numbers(3), ("time",), _cs(system, also=("ref",)))
            for name, system in months.items()
        },
    }


def _identified() -> Nodes:
    """Return arrays whose CRS is declared by a system, or by the `cs` that overrides it."""

    def axes(number: int) -> Json:
        return {f"x{number}": _lon(), f"y{number}": _lat()}

    mercator = {"proj:code": "EPSG:3857"}
    rotated = {
        "name": "rotated pole",
        "axes": {
            "rlon": _axis("X", {"unit": "degrees", "values": {"regular": [-1.0, 0.5]}}),
            "rlat": _axis("Y", {"unit": "degrees", "values": {"regular": [2.0, 0.5]}}),
        },
        "geolocation": {
            "geodetic": {"x": {"node": "lon"}, "y": {"ref": {"node": "../lat"}}, "crs": WGS84}
        },
    }
    plane = np.arange(6.0).reshape(2, 3)
    return {
        "": Group(),
        "by_system": Array(_numbers(4, 5), ("y1", "x1"), _cs({"axes": axes(1), "id": WGS84})),
        "by_cs": Array(
            _numbers(4, 5), ("y2", "x2"), _cs({"axes": axes(2), "id": mercator}, id=WGS84)
        ),
        "not_geographic": Array(
            _numbers(4, 5), ("y3", "x3"), _cs({"axes": axes(3), "id": WGS84}, id=mercator)
        ),
        "unknown": Array(_numbers(4, 5), ("y4", "x4"), _cs({"axes": axes(4)})),
        "rotated": Array(_numbers(2, 3), ("rlat", "rlon"), _cs(rotated)),
        "lon": Array(8 + 0.5 * plane, ("rlat", "rlon"), {"units": "degrees_east"}),
        "lat": Array(46 + 0.25 * plane, ("rlat", "rlon"), {"units": "degrees_north"}),
    }


def _services() -> Nodes:
    """Return arrays that declare `ref`, `uom` and `proj`."""
    cell: Json = {"axes": {"cell": {}}}
    flagged = {
        "quality": {"node": "quality"},
        "related": [{"ref": {"node": "../other/uncertainty"}}, "a text", 3],
        "nested": {"deep": {"mask": {"ref": {"node": "/services/other/mask"}}}},
        "described_by": {"node": "/", "attribute": "/attributes/crs/WGS84"},
        "part_of": {"node": "other"},
        "itself": {"node": "flagged"},
    }
    proj = {"proj:code": "EPSG:32632", "proj:wkt2": None, "proj:epsg": 32632}
    kilograms = {"uom": {"ucum": {"unit": "kg", "version": "2.2"}, "description": "mass"}}
    return {
        "": Group(),
        "flagged": Array(_numbers(3), ("cell",), {**_cs(cell, also=("ref",)), **flagged}),
        "not_declaring": Array(
            _numbers(3), ("cell",), {**_cs(cell), "hidden": {"node": "other/hidden"}}
        ),
        "quality": Array(np.array([0, 1, 2], np.int8), ("cell",)),
        "mass": Array(_numbers(3), ("cell",), {**_cs(cell, also=("uom",)), **kilograms}),
        "grams": Array(
            _numbers(3), ("cell",), {**_cs(cell, also=("uom",)), **kilograms, "units": "g"}
        ),
        "scene": Array(_numbers(3), ("cell",), {**_cs(cell, also=("proj",)), **proj}),
        "other": Group(),
        "other/uncertainty": Array([0.1, 0.2, 0.3], ("cell",)),
        "other/mask": Array(np.array([1, 0, 1], np.int8), ("cell",)),
        "other/hidden": Array(_numbers(3), ("cell",)),
    }


def _sharing() -> Nodes:
    """Return two groups whose arrays share the coordinates in a third group."""

    def attributes() -> Json:
        level = {
            "values": {"external": {"node": "../coords/level"}},
            "boundaries": {"external": {"node": "../coords/level_bnds"}},
        }
        station = {"values": {"external": {"node": "../coords/station"}}}
        axes = {"level": _axis("Z", level, direction="up"), "station": _axis(None, station)}
        return _cs({"axes": axes})

    edges = [[0.0, 10.0], [10.0, 30.0], [30.0, 70.0]]
    return {
        "": Group(),
        "coords": Group(),
        "coords/level": Array([5.0, 20.0, 50.0], ("level",), {"units": "m"}),
        "coords/level_bnds": Array(edges, ("level", "nv")),
        "coords/station": Array(np.array([11, 22]), ("station_coord",)),
        "first": Group(),
        "first/temp": Array(_numbers(3, 2), ("level", "station"), attributes()),
        "first/salt": Array(_numbers(3, 2, first=30), ("level", "station"), attributes()),
        "second": Group(),
        "second/oxygen": Array(_numbers(3, 2, first=200), ("level", "station"), attributes()),
    }


def _collisions() -> Nodes:
    """Return coordinates whose names or dimensions conflict with those of other arrays."""
    quality = {"quality_flag": {"node": "other/quality"}}
    size = {"grid": {"node": "/coarse/grid"}}
    child = {"related": {"node": "other/other"}}
    refer = {**_cs({"axes": {"cell": {}}}, also=("ref",)), **quality, **size, **child}
    shared = {"external": {"node": "../shared"}}
    return {
        "": Group(),
        "a": Array(_numbers(2), ("z",), _along("z", {"explicit": [1, 2]})),
        "b": Array(_numbers(2), ("z",), _along("z", {"explicit": [3, 4]})),
        "c": Array(_numbers(2), ("z",), _along("z", {"explicit": [5, 6]})),
        "d": Array(_numbers(2), ("z",), _along("z", {"explicit": [1, 2]}, unit="m")),
        "quality": Array(_numbers(3), ("cell",), _cs({"axes": {"cell": {}}})),
        "referring": Array(_numbers(3), ("cell",), refer),
        "shared": Array([3.0, 4.0], ("shared_coord",)),
        "ambiguous": Group(),
        "ambiguous/data": Array(_numbers(2), ("shared",), _along("shared", shared)),
        "ambiguous/shared": Array([1.0, 2.0], ("shared",)),
        "other": Group(),
        "other/quality": Array(np.array([7, 8, 9], np.int8), ("cell",)),
        "other/other": Array([0.5, 0.6, 0.7], ("cell",)),
    }


write = writer_of(make_nodes)

if __name__ == "__main__":
    run(write, "cs_test.zarr", __doc__)
