"""What no interpretation of an array sees, and what descriptions say of the attributes of any node.

A rule is a pure function of what is known of a store. It yields mistakes, with the place and what to
write instead; the same text for the same mistake in other nodes, so that they are told as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from zarr_xgroup.conventions import declaring
from zarr_xgroup.conventions.checked import CheckedNode, CheckedStore
from zarr_xgroup.conventions.registry import BUILT_IN, OTHERS, Handler, declarable, handlers
from zarr_xgroup.errors import Rule, XGroupError, XGroupPluginWarning, containing, warn_user
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.cf import DECODED_BY
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY, NCZARR_KEYS
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.references import may_refer
from zarr_xgroup.report.rules import (
    arrays,
    conventions,
    references,
    stores,
)

__all__ = [
    "RULES",
    "CheckedNode",
    "CheckedStore",
    "mistakes_of",
    "references",
    "stores",
]

#: Those whose rules look at one node, and at what is around it.
_OF_NODES = (conventions, arrays)

#: Attributes that these look at, besides described ones, declarations, references and lists.
_READ = (*DECODED_BY, DIMENSION_KEY, *NCZARR_KEYS)

_BUILT_IN: tuple[Handler, ...] = (*BUILT_IN, *OTHERS)
_MODULES = (declaring, arrays, stores)

#: All rules that are built in.
RULES: tuple[Rule, ...] = tuple(
    dict.fromkeys(
        chain(
            *(module.RULES for module in _MODULES), *(convention.rules for convention in _BUILT_IN)
        )
    )
)


def mistakes_of(subject: CheckedNode) -> Iterator[Finding]:
    """Yield what is wrong with a node by the rules that look at nodes, third parties' among them."""
    yield from _of_alike(subject) if subject.is_array else _asked(subject)
    for handler in handlers():
        if handler not in BUILT_IN and handler not in subject.store.failed:
            yield from _of_third_party(handler, subject)


def _asked(subject: CheckedNode) -> Iterator[Finding]:
    for module in _OF_NODES:
        yield from module.check(subject)
    for convention in _BUILT_IN:
        yield from convention.check(subject)


def _of_alike(array: CheckedNode) -> Iterator[Finding]:
    """Yield what is wrong with an array: the same as with another of its group that is written alike."""
    level = arrays.level_of(array)
    items = () if level is None else tuple(item.keys for item in level.items)
    written = (array.document.text_without_attributes(), *_significant(array))
    by = (array.node.group, written, items)
    first, mistakes = array.store.memo(_first, array, by=by)
    yield from (mistake.moved(str(first), str(array.node)) for mistake in mistakes)


def _first(array: CheckedNode) -> tuple[Node, list[Finding]]:
    """Return an array and what is wrong with it."""
    return array.node, list(_asked(array))


def _significant(array: CheckedNode) -> Iterator[tuple[str, bytes]]:
    """Yield the attributes of an array that rules look at, as text."""
    read = (*_READ, *array.store.memo(_described))
    for key in array.attributes:
        text = array.attributes.text(key) or b""
        is_read = key.startswith(read) or "convention" in key.lower() or "/" in key
        if is_read or text.startswith(b"[") or may_refer(text):
            yield key, text


def _described() -> tuple[str, ...]:
    """Return how the attributes of conventions begin that are described."""
    described = chain.from_iterable(convention.described for convention in declarable())
    return tuple(attribute.prefix or attribute.key for attribute in described)


def _of_third_party(handler: Handler, subject: CheckedNode) -> Iterable[Finding]:
    """Return what a third party's handler finds. If it raises anything, that is told once."""
    try:
        with containing():
            found = [*conventions.of_convention(handler, subject), *handler.check(subject)]
            for finding in found:
                if not isinstance(finding, Finding):
                    raise TypeError(repr(finding))
            return found
    except XGroupError as error:
        message = f"the rules of convention {handler.name!r} ({handler.__module__}) failed: {error}"
        subject.store.failed.add(handler)
        warn_user(XGroupPluginWarning(message, error))
        return []
