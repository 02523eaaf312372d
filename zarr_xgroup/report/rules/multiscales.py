"""The layout convention `multiscales`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from zarr_xgroup.conventions.layout import Multiscales, asset_path
from zarr_xgroup.conventions.spelling import alike
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, got, mistake, shown, write

DOCUMENT = "multiscales convention (zarr-conventions/multiscales)"

OF_GROUP = Rule("multiscales/of-groups", DOCUMENT, "Applicability")
LAYOUT = Rule("multiscales/layout", DOCUMENT, "Field details")
ASSET = Rule("multiscales/asset", DOCUMENT, "Layout object: asset")
THERE = Rule("multiscales/asset-is-there", DOCUMENT, "Layout object: asset")
DERIVED = Rule("multiscales/derived-from", DOCUMENT, "Layout object: derived_from")
TRANSFORM = Rule("multiscales/transform", DOCUMENT, "Transform object")
RESAMPLING = Rule("multiscales/resampling-method", DOCUMENT, "Field details")

RULES = (OF_GROUP, LAYOUT, ASSET, THERE, DERIVED, TRANSFORM, RESAMPLING)

_PATH = re.compile(r"(?!/)(?!.*\.\.)[^/]+(/[^/]+)*")
_EXAMPLE = '"layout": [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": {...}}]'


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attribute ``multiscales`` of a node."""
    written = subject.attribute("multiscales")
    if written is None or not is_meant(subject, Multiscales):
        return
    if subject.is_array:
        text = _("is an attribute of an array: the convention is about groups")
        yield mistake(OF_GROUP, written, text, _("write it on the group of the levels"), "warning")
        return
    if isinstance(written.value, OBJECT) and "tile_matrix_set" in written.value:
        return  # a pyramid as the draft of GeoZarr has it
    remedy = _("write, for example, {example}").format(example=_EXAMPLE)
    if not isinstance(written.value, OBJECT):
        yield mistake(LAYOUT, written, got(_("an object"), written.value), remedy)
        return
    yield from _resampling(written)
    layout = written.value.get("layout")
    if not isinstance(layout, list) or not layout:
        text = got(_("a list of levels"), layout) if layout is not None else _("is missing")
        yield mistake(LAYOUT, written, text, remedy, key="layout")
        return
    items = list(Fragment(written.node, (*written.keys, "layout"), layout).items())
    assets = [it.value.get("asset") for it in items if isinstance(it.value, OBJECT)]
    # That an asset must not begin or end with a slash is told once, where it is written.
    names = dict.fromkeys(it.strip("/") for it in assets if isinstance(it, str))
    for item in items:
        yield from _item(subject, item, names)


def _resampling(place: Fragment) -> Iterator[Finding]:
    method = place.value.get("resampling_method", "")
    if not isinstance(method, str):
        remedy = _('write, for example, "resampling_method": "average"')
        text = got(_("a string"), method)
        yield mistake(RESAMPLING, place, text, remedy, "warning", key="resampling_method")


def _item(subject: Subject, item: Fragment, assets: Collection[str]) -> Iterator[Finding]:
    if not isinstance(item.value, OBJECT):
        asset = item.value if isinstance(item.value, str) else "r10m"
        remedy = _("write {example}").format(example=f'{{"asset": {shown(asset)}}}')
        yield mistake(LAYOUT, item, got(_("an object"), item.value), remedy)
        return
    yield from _resampling(item)
    yield from _asset(subject, item)
    yield from _derived(item, assets)
    if "transform" in item.value:
        transform = Fragment(item.node, (*item.keys, "transform"), item.value["transform"])
        yield from _transform(transform)


def _asset(subject: Subject, item: Fragment) -> Iterator[Finding]:
    asset = item.value.get("asset")
    if not _is_path(asset):
        text = got(_("the path of a level, relative to the group"), asset)
        stripped = asset.strip("/") if isinstance(asset, str) else ""
        remedy = write("asset", stripped if _is_path(stripped) else "r10m")
        yield mistake(ASSET, item, text, remedy, key="asset")
    elif subject.store.subject(join_path(subject.node.path, asset_path(asset))) is None:
        names = sorted(subject.store.snapshot.names(subject.node.path))
        meant = alike(asset, names)
        text = _("{asset} is neither a group nor an array here").format(asset=shown(asset))
        remedy = _("name one of {names}, or leave this item out").format(names=shown(names))
        yield mistake(THERE, item, text, write("asset", meant) if meant else remedy, key="asset")


def _is_path(value: object) -> bool:
    return isinstance(value, str) and _PATH.fullmatch(value) is not None


def _derived(item: Fragment, assets: Collection[str]) -> Iterator[Finding]:
    if "derived_from" not in item.value:
        return
    source = item.value["derived_from"]
    asset = item.value.get("asset")
    if not isinstance(source, str) or source == asset or source not in assets:
        others = [it for it in assets if it != asset]
        text = _("{source} is no other level of the layout").format(source=shown(source))
        remedy = _('name the "asset" of one of the others: {assets}').format(assets=shown(others))
        meant = alike(str(source), others)
        if meant:
            remedy = write("derived_from", meant)
        yield mistake(DERIVED, item, text, remedy, key="derived_from")
    if "transform" not in item.value:
        text = _("is missing, though the level is derived from another one")
        remedy = _("write {example}").format(
            example='"transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}'
        )
        yield mistake(TRANSFORM, item, text, remedy, "warning", key="transform")


def _transform(transform: Fragment) -> Iterator[Finding]:
    if not isinstance(transform.value, OBJECT):
        remedy = _('write, for example, {"scale": [2.0, 2.0], "translation": [0.0, 0.0]}')
        yield mistake(TRANSFORM, transform, got(_("an object"), transform.value), remedy)
        return
    for key, example in (("scale", [2.0, 2.0]), ("translation", [0.0, 0.0])):
        value = transform.value.get(key, [])
        if not (isinstance(value, list) and all(map(is_finite, value))):
            text = got(_("a list of numbers, one for each dimension"), value)
            remedy = _("write, for example, {example}").format(example=f'"{key}": {example}')
            yield mistake(TRANSFORM, transform, text, remedy, key=key)
