"""The layout convention `multiscales`: where it stands, and whether its levels are there."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import layout
from zarr_xgroup.conventions.layout import ATTRIBUTE, DOCUMENT, Item, Layout, Multiscales
from zarr_xgroup.conventions.spelling import alike
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistake, shown, write

THERE = Rule("multiscales/asset-is-there", DOCUMENT, "Layout object: asset")

RULES = (*layout.RULES, THERE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attribute ``multiscales`` of a node."""
    written = subject.attribute(ATTRIBUTE.key)
    if written is None or subject.is_array or not is_meant(subject, Multiscales):
        return
    found, _wrong = ATTRIBUTE.read(written)
    if isinstance(found, Layout):
        for item in found.layout:
            yield from _asset(subject, item)


def _asset(subject: Subject, item: Item) -> Iterator[Finding]:
    """Yield that there is neither a group nor an array where an item says."""
    if item.asset is None or any(it.rule is layout.ASSET for it in item.wrong):
        return
    if subject.store.subject(join_path(subject.node.path, item.asset)) is None:
        names = sorted(subject.store.snapshot.listings.names(subject.node.path))
        meant = alike(item.asset, names)
        text = _("{asset} is neither a group nor an array here").format(asset=shown(item.asset))
        remedy = _("name one of {names}, or leave this item out").format(names=shown(names))
        remedy = write("asset", meant) if meant else remedy
        yield mistake(THERE, item.place(subject.node), text, remedy, key="asset")
