"""Write a small Zarr store of gridded imagery that declares `spatial`.

Each group shows one topic: attributes of arrays and groups and their priority, pixel and node
registration, rotated and sheared grids, pyramids, bounding boxes, and placeholders that products write.
"""

from typing import Any

import numpy as np
from store_tools import below, run, writer_of

from zarr_xgroup.tests.builders import UUIDS, Array, Group, Json, Nodes

UTM = "EPSG:32633"
WGS84 = "EPSG:4326"

#: 10 m cells with north up.
TRANSFORM = (10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0)
ROTATED = (8.0, 6.0, 500_000.0, 6.0, -8.0, 5_000_000.0)
SHEARED = (10.0, 2.5, 500_000.0, 0.0, -10.0, 5_000_000.0)
#: Steps that floats cannot represent exactly.
THIRDS = (0.1, 0.0, -0.7, 0.0, -0.3, 60.2)

N_Y, N_X = 4, 6

#: WKT1, in the form that products write.
UTM_WKT1 = (
    'PROJCS["WGS 84 / UTM zone 33N",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,'
    '298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,'
    'AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],'
    'AUTHORITY["EPSG","4326"]],PROJECTION["Transverse_Mercator"],'
    'PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",15],'
    'PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],'
    'PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],'
    'AXIS["Easting",EAST],AXIS["Northing",NORTH],AUTHORITY["EPSG","32633"]]'
)


def make_nodes() -> Nodes:
    """Return all nodes by their paths, groups before their members."""
    return {
        "": Group(attrs={"title": "Gridded imagery of all kinds"}),
        **below("array_level", _array_level()),
        **below("inherited", _inherited()),
        **below("override", _override()),
        **below("node", _node()),
        **below("rotated", _rotated()),
        **below("sheared", _sheared()),
        **below("orders", _orders()),
        **below("pyramid", _pyramid()),
        **below("chain", _chain()),
        **below("array_assets", _array_assets()),
        **below("bbox", _bbox()),
        **below("bbox_node", _bbox_node()),
        **below("placeholder", _placeholder()),
        **below("placeholder_bare", _placeholder_bare()),
        **below("real", _real()),
        **below("unnamed", _unnamed()),
        **below("several_crs", _several_crs()),
    }


# Pieces of documents.


def _declaring(*conventions: str, **attributes: Any) -> Json:
    declared = [{"uuid": UUIDS[name], "name": f"{name}:"} for name in conventions]
    return {"zarr_conventions": declared, **attributes}


def _spatial(
    transform: tuple[float, ...] | None = None,
    dimensions: tuple[str, str] = ("y", "x"),
    crs: str = UTM,
    **more: Any,
) -> Json:
    """Return attributes of a node that declares `spatial` and `proj`.

    Parameters
    ----------
    transform : tuple of float, optional
        The value of ``spatial:transform``.
    dimensions : tuple of str
        The names of Y and X.
    crs : str
        The value of ``proj:code``.
    **more
        Further attributes of `spatial`, without the prefix.
    """
    attributes = _declaring("spatial", "proj")
    attributes["spatial:dimensions"] = list(dimensions)
    if transform is not None:
        attributes["spatial:transform"] = list(transform)
    attributes |= {f"spatial:{key}": value for key, value in more.items()}
    attributes["proj:code"] = crs
    return attributes


def _numbers(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape, dtype=int), dtype=np.int16).reshape(shape)


def _image(rows: int = N_Y, columns: int = N_X, attributes: Json | None = None) -> Array:
    return Array(_numbers(rows, columns), ("y", "x"), attributes or {})


# The groups.


def _array_level() -> Nodes:
    """Return arrays that declare all attributes themselves, and one that declares none."""
    return {
        "": Group(),
        "image": _image(attributes=_spatial(TRANSFORM)),
        "series": Array(_numbers(2, N_Y, N_X), ("time", "y", "x"), _spatial(TRANSFORM)),
        # It has the dimensions of the images, so it gets their coordinates.
        "mask": _image(),
    }


def _inherited() -> Nodes:
    """Return a group that declares all attributes for its direct child arrays."""
    return {
        "": Group(attrs=_spatial(THIRDS, ("lat", "lon"), WGS84)),
        "red": Array(_numbers(N_Y, N_X), ("lat", "lon")),
        "series": Array(_numbers(2, N_Y, N_X), ("time", "lat", "lon")),
        "time": Array(np.array([0, 1]), ("time",), {"units": "days since 2026-01-01"}),
        "profile": Array(_numbers(N_Y), ("lat",)),
        "scalar": Array(np.int16(7), ()),
        "below": Group(),
        "below/red": Array(_numbers(N_Y, N_X), ("lat", "lon")),
    }


def _override() -> Nodes:
    """Return arrays that override some attributes of their group."""
    return {
        "": Group(attrs=_spatial(TRANSFORM, registration="node", crs=WGS84)),
        "all_of_group": _image(),
        "own_transform": Array(
            _numbers(3, 5),
            ("v", "u"),
            {
                "spatial:dimensions": ["v", "u"],
                "spatial:transform": [20.0, 0.0, 600_000.0, 0.0, -20.0, 4_000_000.0],
                "proj:code": UTM,
            },
        ),
        "own_registration": Array(
            _numbers(2, 3),
            ("row", "col"),
            {"spatial:dimensions": ["row", "col"], "spatial:registration": "pixel"},
        ),
    }


def _node() -> Nodes:
    """Return a global grid with node registration."""
    world = (45.0, 0.0, -180.0, 0.0, -45.0, 90.0)
    return {
        "": Group(attrs=_spatial(world, ("lat", "lon"), WGS84, registration="node")),
        "height": Array(_numbers(5, 9), ("lat", "lon")),
    }


def _rotated() -> Nodes:
    return {
        "": Group(attrs=_spatial(ROTATED)),
        "image": _image(),
        "series": Array(_numbers(2, N_Y, N_X), ("time", "y", "x")),
    }


def _sheared() -> Nodes:
    """Return a sheared grid with node registration, with columns as its first axis."""
    return {
        "": Group(attrs=_spatial(SHEARED, registration="node")),
        "image": Array(_numbers(N_X, 2, N_Y), ("x", "band", "y")),
    }


def _orders() -> Nodes:
    """Return arrays of one grid with axes in different orders, and additional axes."""
    return {
        # The arrays have the names in lower case.
        "": Group(attrs=_spatial(TRANSFORM, ("Y", "X"))),
        "straight": _image(),
        "transposed": Array(_numbers(N_X, N_Y), ("x", "y")),
        "between": Array(_numbers(N_X, 2, N_Y), ("x", "band", "y")),
        "cube": Array(_numbers(3, 2, N_Y, N_X), ("time", "band", "y", "x")),
    }


def _layout(*items: Json, **attributes: Any) -> Json:
    declared = _spatial(**attributes)
    declared["zarr_conventions"] += _declaring("multiscales")["zarr_conventions"]
    return {**declared, "multiscales": {"layout": list(items)}}


def _level(asset: str, shape: tuple[int, int], transform: tuple[float, ...]) -> Json:
    return {"asset": asset, "spatial:shape": list(shape), "spatial:transform": list(transform)}


def _derived(asset: str, source: str, scale: tuple[float, float], *translation: float) -> Json:
    transform = {"scale": list(scale), "translation": list(translation or (0.0, 0.0))}
    return {"asset": asset, "derived_from": source, "transform": transform}


def _pyramid() -> Nodes:
    """Return levels in groups. The layout of their parent has the transform of each."""
    shapes = {"r10m": (12, 18), "r20m": (6, 9), "r60m": (2, 3)}
    steps = {"r10m": 10.0, "r20m": 20.0, "r60m": 60.0}
    items = [
        _level(asset, shapes[asset], (step, 0.0, 500_000.0, 0.0, -step, 5_000_000.0))
        for asset, step in steps.items()
    ]
    box = [500_000.0, 4_999_880.0, 500_180.0, 5_000_000.0]
    nodes: dict[str, Array | Group] = {"": Group(attrs=_layout(*items, bbox=box))}
    for asset, shape in shapes.items():
        nodes |= {asset: Group(), f"{asset}/b02": _image(*shape), f"{asset}/b03": _image(*shape)}
    return nodes


def _chain() -> Nodes:
    """Return levels derived from one another. The layout lists them in a different order."""
    shapes = {"tiny": (1, 1), "full": (12, 18), "half": (6, 9), "shifted": (5, 4), "sixth": (2, 3)}
    items = [
        _derived("tiny", "sixth", (2.0, 3.0)),
        {"asset": "full"},
        _derived("half", "full", (2.0, 2.0)),
        # Every second row and fourth column of its source, from row 1 and column 2.
        _derived("shifted", "full", (2.0, 4.0), 1.0, 2.0),
        _derived("sixth", "half", (3.0, 3.0)),
    ]
    nodes: dict[str, Array | Group] = {"": Group(attrs=_layout(*items))}
    for asset, shape in shapes.items():
        # The level from which the others derive declares its own transform.
        nodes[asset] = Group(attrs=_spatial(TRANSFORM) if asset == "full" else {})
        nodes[f"{asset}/image"] = _image(*shape)
    return nodes


def _array_assets() -> Nodes:
    """Return a pyramid with its levels as arrays in one group."""
    items = [
        _level("0", (4, 8), TRANSFORM),
        _derived("1", "0", (2.0, 2.0)),
        _derived("2", "1", (2.0, 2.0)),
    ]
    return {
        "": Group(attrs=_layout(*items)),
        "0": _image(4, 8),
        "1": Array(_numbers(2, 4), ("y1", "x1"), {"spatial:dimensions": ["y1", "x1"]}),
        "2": Array(_numbers(1, 2), ("y2", "x2"), {"spatial:dimensions": ["y2", "x2"]}),
    }


def _bbox() -> Nodes:
    """Return a grid with a bounding box of its outer edges, and no transform."""
    world = [-180.0, -90.0, 180.0, 90.0]
    return {
        "": Group(attrs=_spatial(None, ("lat", "lon"), WGS84, bbox=world)),
        "height": Array(_numbers(6, 12), ("lat", "lon")),
    }


def _bbox_node() -> Nodes:
    """Return a grid with node registration and a bounding box of the outermost centres."""
    attributes = _spatial(
        None,
        ("lat", "lon"),
        WGS84,
        bbox=[-180.0, -90.0, 180.0, 90.0],
        registration="node",
        shape=[5, 9],
    )
    return {"": Group(), "height": Array(_numbers(5, 9), ("lat", "lon"), attributes)}


def _placeholder() -> Nodes:
    """Return an empty bounding box and coordinate arrays, as in published products."""
    image = {"grid_mapping": "spatial_ref", "proj:epsg": 32633, "proj:wkt2": UTM_WKT1}
    return {
        "": Group(attrs=_spatial(None, bbox=[0.0, 0.0, 0.0, 0.0], registration="pixel")),
        "b02": _image(attributes=image),
        "x": Array(500_005 + 10 * np.arange(N_X), ("x",)),
        "y": Array(4_999_995 - 10 * np.arange(N_Y), ("y",)),
        "spatial_ref": Array(np.int64(0), (), {"crs_wkt": UTM_WKT1, "spatial_ref": UTM_WKT1}),
    }


def _placeholder_bare() -> Nodes:
    """Return an empty bounding box without coordinate arrays."""
    return {"": Group(attrs=_spatial(None, bbox=[0.0, 0.0, 0.0, 0.0])), "b02": _image()}


def _real() -> Nodes:
    """Return coordinate arrays, and a transform with different values."""
    return {
        "": Group(attrs=_spatial(TRANSFORM)),
        "image": _image(),
        "x": Array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], ("x",)),
        "y": Array([9.0, 7.0, 4.0, 0.0], ("y",), {"units": "km"}),
    }


def _unnamed() -> Nodes:
    """Return arrays without dimension names."""
    return {
        "": Group(attrs=_spatial(TRANSFORM, shape=[N_Y, N_X])),
        "image": Array(_numbers(N_Y, N_X), None),
        "series": Array(_numbers(3, N_Y, N_X), None),
    }


def _several_crs() -> Nodes:
    """Return grids with two coordinate reference systems in one group."""
    degrees = (1.0, 0.0, 12.0, 0.0, -1.0, 50.0)
    return {
        "": Group(),
        "projected": _image(attributes=_spatial(TRANSFORM)),
        "geographic": Array(
            _numbers(2, 3), ("lat", "lon"), _spatial(degrees, ("lat", "lon"), WGS84)
        ),
    }


write = writer_of(make_nodes)

if __name__ == "__main__":
    run(write, "spatial_test.zarr", __doc__)
