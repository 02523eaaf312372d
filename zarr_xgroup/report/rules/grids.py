"""Grids: what ``proj:*`` attributes say of an array's cells, and groups of the levels and arrays below them."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import spatial_model
from zarr_xgroup.conventions.descriptions import shown, write
from zarr_xgroup.conventions.layout import ASSET, THERE, Item, Multiscales
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.proj_model import DOCUMENT
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.spatial_model import DIMENSIONS
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.report.rules.conventions import is_meant
from zarr_xgroup.report.rules.subject import Subject

#: Attributes of the first version of the convention, and of STAC.
SHAPE, TRANSFORM, BOX = "proj:shape", "proj:transform", "proj:bbox"

OF_ARRAY = Rule("proj/of-the-array", DOCUMENT, f"{SHAPE}, {TRANSFORM}, {BOX} (first version)")

RULES = (OF_ARRAY,)

#: How many of the nodes of a group are named that an item may mean.
_NAMED = 50


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the grid that an array or a group declares."""
    if not subject.is_array:
        yield from _of_group(subject)
    elif len(subject.dims) > 1 and is_meant(subject, ProjHandler):
        yield from _of_array(subject)


def _of_array(subject: Subject) -> Iterator[Finding]:
    """Yield a shape that is not the array's, or else a transform by which it does not fill the box."""
    sizes = list(subject.document["shape"][-2:])
    shape = subject.attribute(SHAPE)
    if shape is not None and _are_numbers(shape, 2) and list(shape.value) != sizes:
        yield _of_another(subject, shape, sizes)
        return
    transform, box = subject.attribute(TRANSFORM), subject.attribute(BOX)
    if transform is not None and box is not None:
        yield from _off_the_box(transform, box, sizes)


def _are_numbers(written: Fragment, *counts: int) -> bool:
    """Tell whether a value is a list of so many numbers."""
    value = written.value
    return isinstance(value, list) and len(value) in counts and all(map(is_finite, value))


def _of_another(subject: Subject, shape: Fragment, sizes: list[int]) -> Finding:
    text = f"is {shown(shape.value)}, but the array has {shown(sizes)} cells"
    other = _array_of(subject, shape.value)
    if other:
        text = f"{text}: it is that of {other}"
    remedy = "{write}, and the array's own {keys}, or leave them out".format(
        write=write(SHAPE, sizes), keys=f"{TRANSFORM}, {BOX}"
    )
    return report(OF_ARRAY, shape, text, remedy, severity="warning")


def _array_of(subject: Subject, shape: list[int]) -> str:
    """Return the path of an array that is called like one and has a shape, "" if there is none."""
    paths = subject.store.by_name.get(subject.node.name, ())
    others = ((path, subject.store.subject(path.strip("/"))) for path in paths)
    arrays = ((path, it) for path, it in others if it is not None and it.is_array)
    found = (path for path, it in arrays if it.document["shape"][-2:] == shape)
    return next(found, "")


def _off_the_box(transform: Fragment, box: Fragment, sizes: list[int]) -> Iterator[Finding]:
    """Yield that the array spans another width or height than its box, by more than a cell."""
    if not (_are_numbers(transform, 6, 9) and _are_numbers(box, 4)):
        return
    a, b, _c, d, e, _f = map(abs, transform.value[:6])
    (height, width), (left, bottom, right, top) = sizes, box.value
    spans = [a * width + b * height, d * width + e * height]
    cells, wanted = (a + b, d + e), [abs(right - left), abs(top - bottom)]
    if any(abs(it - to) > cell for it, to, cell in zip(spans, wanted, cells, strict=True)):
        text = f"has the array's cells span {shown(spans)}, but {BOX} spans {shown(wanted)}"
        remedy = "write the array's own {keys}, or leave them out".format(
            keys=f"{TRANSFORM}, {BOX}"
        )
        yield report(OF_ARRAY, transform, text, remedy, severity="warning")


# What groups declare of what is below them.


def _of_group(subject: Subject) -> Iterator[Finding]:
    """Yield which levels of a group are not there, and that no array has its dimensions."""
    if subject.layout is not None and is_meant(subject, Multiscales):
        names = subject.store.tree.names(subject.node)
        for item in subject.layout.layout:
            yield from _asset(subject, item, shown(names[:_NAMED]))
    declared = subject.attribute(DIMENSIONS.key)
    if declared is not None and is_meant(subject, SpatialHandler):
        yield from _of_no_array(subject, declared)


def _asset(subject: Subject, item: Item, names: str) -> Iterator[Finding]:
    """Yield that there is neither a group nor an array where an item says."""
    if item.asset is None or any(it.rule is ASSET for it in item.wrong):
        return
    if subject.store.subject(join_path(subject.node.path, item.asset)) is None:
        text = f"{shown(item.asset)} is neither a group nor an array here"
        remedy = f"name one of {names}, or leave this item out"
        place = item.place_of_asset(subject.node)
        yield report(THERE, place, text, remedy)


def _of_no_array(subject: Subject, declared: Fragment) -> Iterator[Finding]:
    """Yield names of dimensions that none of the arrays has which a group declares them for."""
    names, _wrong = DIMENSIONS.read(declared)
    wanted = {name.lower() for name in names or ()}
    grids = [list(it.sizes) for it in subject.below() if _has_a_grid_by(declared, it)]
    if not grids or any(wanted.issubset(map(str.lower, own)) for own in grids):
        return
    text = (
        f"{shown(declared.value)} are not both dimensions of the array, which has {shown(grids[0])}"
    )
    yield report(spatial_model.OF_ARRAY, declared, text, write(DIMENSIONS.key, grids[0][-2:]))


def _has_a_grid_by(declared: Fragment, it: Subject) -> bool:
    """Tell whether names of dimensions count for an array all of whose dimensions have names."""
    is_grid = it.is_array and len(it.dims) > 1 and None not in it.dims
    return is_grid and it.places.get(DIMENSIONS.key) == declared
