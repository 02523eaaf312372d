"""Grids: what ``proj:*`` attributes say of an array's cells, which may be what is true of another array."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.proj_model import DOCUMENT
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.report.rules.described import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistake, shown, write

#: Attributes of the first version of the convention, and of STAC.
SHAPE, TRANSFORM, BOX = "proj:shape", "proj:transform", "proj:bbox"

OF_ARRAY = Rule("proj/of-the-array", DOCUMENT, f"{SHAPE}, {TRANSFORM}, {BOX} (first version)")

RULES = (OF_ARRAY,)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield a shape that is not the array's, or else a transform by which it does not fill the box."""
    if not (subject.is_array and len(subject.dims) > 1 and is_meant(subject, ProjHandler)):
        return
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
    text = _("is {shape}, but the array has {sizes} cells").format(
        shape=shown(shape.value), sizes=shown(sizes)
    )
    other = _array_of(subject, shape.value)
    if other:
        text = _("{what}: it is that of {other}").format(what=text, other=other)
    remedy = _("{write}, and the array's own {keys}, or leave them out").format(
        write=write(SHAPE, sizes), keys=f"{TRANSFORM}, {BOX}"
    )
    return mistake(OF_ARRAY, shape, text, remedy, "warning")


def _array_of(subject: Subject, shape: list[int]) -> str:
    """Return the path of an array that is called like one and has a shape, "" if there is none."""
    paths = subject.store.by_name.get(subject.node.name, ())
    others = ((path, subject.store.subject(path.strip("/"))) for path in paths)
    found = (path for path, it in others if it and it.document.get("shape", [])[-2:] == shape)
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
        text = _("has the array's cells span {spans}, but {key} spans {box}").format(
            spans=shown(spans), key=BOX, box=shown(wanted)
        )
        remedy = _("write the array's own {keys}, or leave them out").format(
            keys=f"{TRANSFORM}, {BOX}"
        )
        yield mistake(OF_ARRAY, transform, text, remedy, "warning")
