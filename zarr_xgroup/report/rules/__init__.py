"""Rules that `check` applies to a store besides those that its interpretation applies anyhow.

A rule is a pure function of the metadata of a store. It yields mistakes, each with its place and a remedy. The
text of a mistake does not name the node: so the same mistake in many nodes is reported once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from zarr_xgroup.conventions import declaring
from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.multiscales import level_of
from zarr_xgroup.conventions.registry import (
    BUILT_IN,
    WITHOUT_COORDINATES,
    Handler,
    declarable,
    handlers,
)
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
from zarr_xgroup.report.rules.checked import CheckedStore

__all__ = [
    "RULES",
    "CheckedStore",
    "arrays",
    "mistakes_of",
    "references",
    "stores",
]

#: Modules whose rules look at one group or array, and at the groups and arrays next to it.
_RULES_OF_NODES = (conventions, arrays)

#: Attributes of arrays that rules read, besides those described by conventions, ``zarr_conventions``,
#: references and lists.
_OTHER_ATTRIBUTES = (*DECODED_BY, DIMENSION_KEY, *NCZARR_KEYS)

_BUILT_IN: tuple[Handler, ...] = (*BUILT_IN, *WITHOUT_COORDINATES)
_MODULES = (declaring, arrays, stores)

#: All built-in rules, each once.
RULES: tuple[Rule, ...] = tuple(
    dict.fromkeys(
        chain(
            *(module.RULES for module in _MODULES), *(convention.rules for convention in _BUILT_IN)
        )
    )
)


def mistakes_of(checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield the mistakes in one group or array, by built-in rules and by those of plug-ins."""
    of_node = _mistakes_of_array if subject.is_array else _mistakes_by_rules
    yield from of_node(checked, subject)
    for handler in handlers():
        if handler not in BUILT_IN and handler not in checked.failed:
            yield from _mistakes_by_plugin(handler, checked, subject)


def _mistakes_by_rules(checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield the mistakes in one group or array by all built-in rules."""
    for module in _RULES_OF_NODES:
        yield from module.check(checked, subject)
    for convention in _BUILT_IN:
        # In a store that declares no convention, CF attributes may have any value.
        if convention is not CfHandler or checked.declares_something:
            yield from convention.check(subject)


def _mistakes_of_array(checked: CheckedStore, array: NodeView) -> Iterator[Finding]:
    """Yield the mistakes in an array, from a cache if an array of its group has the same metadata.

    Groups often have hundreds of arrays that differ only in attributes which no rule reads.
    """
    level = level_of(array)
    items = () if level is None else tuple(item.keys for item in level.items)
    written = (array.document.text_without_attributes(), *_attributes_of_rules(checked, array))
    by = (array.node.group, written, items)
    first, mistakes = checked.memo(_first_mistakes, checked, array, by=by)
    yield from (mistake.moved(str(first), str(array.node)) for mistake in mistakes)


def _first_mistakes(checked: CheckedStore, array: NodeView) -> tuple[Node, list[Finding]]:
    """Return an array and its mistakes, which `_mistakes_of_array` keeps for arrays with the same metadata."""
    return array.node, list(_mistakes_by_rules(checked, array))


def _attributes_of_rules(checked: CheckedStore, array: NodeView) -> Iterator[tuple[str, bytes]]:
    """Yield name and JSON text of each attribute of an array that a rule reads."""
    read = (*_OTHER_ATTRIBUTES, *checked.memo(_described_prefixes))
    for key in array.attributes:
        text = array.attributes.text(key) or b""
        is_read = key.startswith(read) or "convention" in key.lower() or "/" in key
        if is_read or text.startswith(b"[") or may_refer(text):
            yield key, text


def _described_prefixes() -> tuple[str, ...]:
    """Return the prefixes of the attributes that conventions describe, or the names of those without a prefix."""
    described = chain.from_iterable(convention.described for convention in declarable())
    return tuple(attribute.prefix or attribute.key for attribute in described)


def _mistakes_by_plugin(
    handler: Handler, checked: CheckedStore, subject: NodeView
) -> Iterable[Finding]:
    """Return the mistakes that the handler of a plug-in finds.

    If the handler raises anything, return none, warn, and do not call its rules again for this store.
    """
    try:
        with containing():
            found = [*conventions.mistakes_of_convention(handler, subject), *handler.check(subject)]
            for finding in found:
                if not isinstance(finding, Finding):
                    raise TypeError(repr(finding))
            return found
    except XGroupError as error:
        message = f"the rules of convention {handler.name!r} ({handler.__module__}) failed: {error}"
        checked.failed.add(handler)
        warn_user(XGroupPluginWarning(message, error))
        return []
