"""Explanations made by hand, to be drawn."""

from zarr_xgroup.findings import Place
from zarr_xgroup.report.explanation import (
    Explanation,
    FoundArray,
    FoundConvention,
    FoundCoordinate,
    FoundCrs,
    FoundGroup,
    FoundProblem,
    FoundReference,
)

UTM = FoundCrs("WGS 84 / UTM zone 33N", "EPSG:32633", "spatial_ref")

#: What no page may take for anything but a name.
HOSTILE_NAMES = (
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "'&amp;\\u003c]]>",
    "control\x00\x07\x1b[31m\r\n\u2028",
    "bidi\u202egnp.exe\u2066",
    "lone \ud800 surrogate",
    "__proto__",
    "constructor",
    "long" * 2500,
)


def small() -> Explanation:
    """Return three arrays, two groups, a reference that leads somewhere and one that does not."""
    field = FoundArray(
        "/ocean/temperature",
        ("time", "lat", "lon"),
        (12, 180, 360),
        "float32",
        conventions=(
            FoundConvention("cs", "principal", "/ocean/temperature"),
            FoundConvention("proj", "service", "/ocean"),
            FoundConvention("uom", "service", None),
        ),
        coordinates=("time", "lat"),
        missing=("lon",),
        crs=FoundCrs("WGS 84", "EPSG:4326", "spatial_ref"),
    )
    arrays = (field.path,)
    return Explanation(
        "/data/ocean.zarr",
        "/",
        3,
        True,
        groups=(
            FoundGroup("/"),
            FoundGroup(
                "/axes",
                (
                    FoundArray("/axes/time", ("time",), (12,), "int64", is_coordinate=True),
                    FoundArray("/axes/time_bounds", ("time", "nv"), (12, 2), "int64"),
                ),
                (FoundCoordinate("time", ("time",), "own", Place("/axes/time"), is_index=True),),
            ),
            FoundGroup(
                "/ocean",
                (field,),
                (
                    FoundCoordinate(
                        "time",
                        ("time",),
                        "stored",
                        Place("/axes/time"),
                        "array /axes/time",
                        is_index=True,
                        bounds="time_bounds",
                        arrays=arrays,
                    ),
                    FoundCoordinate(
                        "lat",
                        ("lat",),
                        "computed",
                        text="180 values from -89.5 in steps of 1.0",
                        is_index=True,
                        arrays=arrays,
                    ),
                ),
            ),
        ),
        references=(
            FoundReference(
                Place(field.path, "/attributes/cs/crs/0/axes/time/coordinates/0/values/external"),
                "/axes/time",
                Place("/axes/time"),
                arrays=arrays,
            ),
            FoundReference(
                Place(field.path, "/attributes/cs/crs/0/axes/lon/coordinates/0/values/external"),
                "../axes/lon",
                None,
                text="there is no node /axes/lon, nor /ocean/axes/lon",
                arrays=arrays,
            ),
        ),
        problems=(
            FoundProblem(
                "problem",
                "there is no node /axes/lon",
                Place(field.path, "/attributes/cs/crs/0/axes/lon"),
                arrays,
                "coordinate 'lon'",
            ),
        ),
    )


def large(groups: int = 200, arrays: int = 1000) -> Explanation:
    """Return many arrays in groups of which most are alike; one is not, and one has a problem."""
    each = arrays // groups
    scenes = tuple(_scene(number, each) for number in range(groups - 3))
    axes = tuple(
        FoundArray(f"/grids/utm/{name}", (name,), (10980,), "float64", is_coordinate=True)
        for name in ("x", "y")
    )
    times = tuple(
        FoundArray(f"/grids/time/{name}", ("time",), (12,), "int64") for name in ("start", "end")
    )
    inside = [array for scene in scenes for array in scene.arrays]
    rest = tuple(
        FoundArray(f"/extra_{number:03}", ("n",), (number + 1,), "uint8", missing=("n",))
        for number in range(arrays - len(inside) - len(axes) - len(times))
    )
    return Explanation(
        "s3://bucket/products/scenes.zarr",
        "/",
        3,
        False,
        groups=(
            FoundGroup("/", rest),
            FoundGroup("/grids"),
            FoundGroup("/grids/time", times),
            FoundGroup("/grids/utm", axes),
            *scenes,
        ),
        references=tuple(
            reference
            for number, array in enumerate(inside)
            for reference in _references(array.path, number)
        ),
        problems=(
            FoundProblem("problem", "no node /grids/utm/z", None, (inside[-1].path,), "'z'"),
            FoundProblem("choice", "two nodes are called 'x'", None, (inside[-1].path,)),
            FoundProblem(
                "no principal convention",
                "some arrays declare no principal convention",
                Place(rest[0].path),
                tuple(array.path for array in rest),
            ),
        ),
    )


def _scene(number: int, arrays: int) -> FoundGroup:
    path = f"/scene_{number:03}"
    names = [f"B{band:02}" for band in range(1, arrays + 1)]
    paths = tuple(f"{path}/{name}" for name in names)
    return FoundGroup(
        path,
        tuple(
            FoundArray(
                one,
                ("y", "x"),
                (10980, 10980),
                "uint16",
                conventions=(
                    FoundConvention("spatial", "principal", path),
                    FoundConvention("proj", "service", path),
                ),
                coordinates=("y", "x"),
                crs=UTM,
            )
            for one in paths
        ),
        tuple(
            FoundCoordinate(
                name,
                (name,),
                "stored",
                Place(f"/grids/utm/{name}"),
                is_index=True,
                arrays=paths,
            )
            for name in ("y", "x")
        ),
    )


def _references(path: str, number: int) -> tuple[FoundReference, ...]:
    found = tuple(
        FoundReference(
            Place(path, f"/attributes/{name}"),
            f"../grids/utm/{name}",
            Place(f"/grids/utm/{name}"),
            arrays=(path,),
        )
        for name in ("x", "y")
    )
    if number % 5:
        return found
    time = FoundReference(
        Place(path, "/attributes/time"),
        "grids/time/start",
        Place("/grids/time/start"),
        by_fallback=True,
        text="not relative to the group, but to the root",
        arrays=(path,),
    )
    mask = FoundReference(
        Place(path, "/attributes/mask"),
        "https://example.org/masks.zarr#/mask",
        Place("/mask", store="https://example.org/masks.zarr"),
        arrays=(path,),
    )
    return *found, time, mask


def hostile() -> Explanation:
    """Return groups, arrays and texts with names that would break out of a careless page."""
    groups = tuple(
        FoundGroup(
            f"/{name}",
            (
                FoundArray(
                    f"/{name}/{name}",
                    (name,),
                    (1,),
                    name,
                    conventions=(FoundConvention(name, "principal", name),),
                    coordinates=(name,),
                    missing=(name,),
                    crs=FoundCrs(name, name, name),
                ),
            ),
            (FoundCoordinate(name, (name,), "inline", None, name, arrays=(f"/{name}/{name}",)),),
        )
        for name in HOSTILE_NAMES
    )
    return Explanation(
        HOSTILE_NAMES[0],
        "/",
        2,
        False,
        groups=(FoundGroup("/"), *groups),
        references=tuple(
            FoundReference(Place(group.path, name), name, Place(name, name, name), text=name)
            for group, name in zip(groups, HOSTILE_NAMES, strict=True)
        ),
        problems=tuple(FoundProblem(name, name, Place(name, name)) for name in HOSTILE_NAMES),
    )
