"""The convention `spatial`: its attributes in the items of layouts, and groups that mean no array."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import spatial_model
from zarr_xgroup.conventions.descriptions import shown, write
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.spatial_model import ATTRIBUTES, DIMENSIONS, OF_ARRAY
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistake, mistakes_at

RULES = spatial_model.RULES


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of `spatial` of a node."""
    if not is_meant(subject, SpatialHandler):
        return
    levels = () if subject.layout is None else subject.layout.layout
    for level in [it.whole.at(subject.node) for it in levels if it.whole is not None]:
        for attribute in ATTRIBUTES:
            if (written := level.get(attribute.key)) is not None:
                yield from mistakes_at(subject.node, attribute.all_wrong(written))
    if not subject.is_array:
        yield from _of_no_array(subject)


def _of_no_array(subject: Subject) -> Iterator[Finding]:
    """Yield names of dimensions that none of the arrays has which a group declares them for."""
    declared = subject.attribute(DIMENSIONS.key)
    names = None if declared is None else DIMENSIONS.read(declared)[0]
    if declared is None or names is None:
        return
    grids = [
        it.sizes
        for it in subject.below()
        if it.is_array and len(it.dims) > 1 and None not in it.dims
        if it.places.get(DIMENSIONS.key) == declared
    ]
    if grids and not any({name.lower() for name in names} <= {*map(str.lower, it)} for it in grids):
        own = list(grids[0])
        text = _("{value} are not both dimensions of the array, which has {dims}").format(
            value=shown(declared.value), dims=shown(own)
        )
        yield mistake(OF_ARRAY, declared, text, write(DIMENSIONS.key, own[-2:]))
