"""What groups declare of what is below them: whether it is there, and is as they say."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions.layout import ASSET, THERE, Item, Multiscales
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.spatial_model import DIMENSIONS, OF_ARRAY
from zarr_xgroup.conventions.spelling import alike
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.report.rules.described import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistake, shown, write


def check(subject: Subject) -> Iterator[Finding]:
    """Yield which levels of a group are not there, and that no array has its dimensions."""
    if subject.is_array:
        return
    if subject.layout is not None and is_meant(subject, Multiscales):
        for item in subject.layout.layout:
            yield from _asset(subject, item)
    declared = subject.attribute(DIMENSIONS.key)
    if declared is not None and is_meant(subject, SpatialHandler):
        yield from _of_no_array(subject, declared)


def _asset(subject: Subject, item: Item) -> Iterator[Finding]:
    """Yield that there is neither a group nor an array where an item says."""
    if item.asset is None or any(it.rule is ASSET for it in item.wrong):
        return
    if subject.store.subject(join_path(subject.node.path, item.asset)) is None:
        names = sorted(subject.store.snapshot.listings.names(subject.node.path))
        meant = alike(item.asset, names)
        text = _("{asset} is neither a group nor an array here").format(asset=shown(item.asset))
        remedy = _("name one of {names}, or leave this item out").format(names=shown(names))
        place = item.place_of_asset(subject.node)
        remedy = write(place.keys[-1], meant) if meant else remedy
        yield mistake(THERE, place, text, remedy)


def _of_no_array(subject: Subject, declared: Fragment) -> Iterator[Finding]:
    """Yield names of dimensions that none of the arrays has which a group declares them for."""
    names, _wrong = DIMENSIONS.read(declared)
    wanted = {name.lower() for name in names or ()}
    grids = [list(it.sizes) for it in subject.below() if _has_a_grid_by(declared, it)]
    if not grids or any(wanted.issubset(map(str.lower, own)) for own in grids):
        return
    text = _("{value} are not both dimensions of the array, which has {dims}").format(
        value=shown(declared.value), dims=shown(grids[0])
    )
    yield mistake(OF_ARRAY, declared, text, write(DIMENSIONS.key, grids[0][-2:]))


def _has_a_grid_by(declared: Fragment, it: Subject) -> bool:
    """Tell whether names of dimensions count for an array all of whose dimensions have names."""
    is_grid = it.is_array and len(it.dims) > 1 and None not in it.dims
    return is_grid and it.places.get(DIMENSIONS.key) == declared
