"""The rules of `check`, in addition to those that opening a store applies.

A rule is a pure function of the metadata of a store. It yields mistakes, each with its place and a remedy. The text of a
mistake does not name the node, so that the same mistake in many nodes is reported once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
from zarr_xgroup.errors import Rule, XGroupError, XGroupPluginWarning, converting_errors, warn_user
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.cf import DECODED_BY
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY, NCZARR_KEYS
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.references import may_refer
from zarr_xgroup.report.rules import arrays, conventions, grids, references, stores
from zarr_xgroup.report.rules.checked import CheckedStore

__all__ = [
    "RULES",
    "CheckedStore",
    "arrays",
    "grids",
    "mistakes_of",
    "references",
    "stores",
]

_BUILT_IN: tuple[Handler, ...] = (*BUILT_IN, *WITHOUT_COORDINATES)

#: The functions that check one group or array, in the order of their findings. The second value is whether the function is
#: also called for stores that declare no convention, in which names and attributes may have any meaning.
_CHECKS: tuple[tuple[Callable[[CheckedStore, NodeView], Iterable[Finding]], bool], ...] = (
    (conventions.check_declarations, True),
    (conventions.check_undeclared_attributes, True),
    (conventions.check_unused_declarations, True),
    (conventions.check_attributes, True),
    (conventions.check_references, False),
    (arrays.check_unnamed_dimensions, True),
    (arrays.check_names_in_attributes, False),
    (arrays.check_sizes, False),
)

#: All built-in rules.
RULES: tuple[Rule, ...] = tuple(
    dict.fromkeys(
        chain.from_iterable(
            (
                declaring.RULES,
                arrays.RULES,
                stores.RULES,
                *(convention.rules for convention in _BUILT_IN),
            )
        )
    )
)

#: Attributes of arrays that rules read, in addition to ``zarr_conventions``, lists, references, and the attributes that
#: conventions describe.
_OTHER_ATTRIBUTES = (*DECODED_BY, DIMENSION_KEY, *NCZARR_KEYS)


def mistakes_of(checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield the mistakes in one group or array that break built-in rules or rules of plug-ins.

    Groups often have hundreds of arrays that differ only in attributes that no rule reads. These share their mistakes.
    """
    by = _read_by_rules(checked, subject) if subject.is_array else subject.node
    first, mistakes = checked.tree.memo(by, _mistakes_by_rules, checked, subject)
    yield from (mistake.moved(str(first), str(subject.node)) for mistake in mistakes)
    for handler in handlers():
        if handler not in BUILT_IN and handler not in checked.failed:
            yield from _mistakes_by_plugin(handler, checked, subject)


def _mistakes_by_rules(checked: CheckedStore, subject: NodeView) -> tuple[Node, list[Finding]]:
    """Return a group or array, and its mistakes by all built-in rules."""
    found: list[Finding] = []
    for check, is_for_all in _CHECKS:
        if is_for_all or checked.declares_something:
            found += check(checked, subject)
    for convention in _BUILT_IN:
        if convention is not CfHandler or checked.declares_something:
            found += convention.check(subject)
    return subject.node, found


def _read_by_rules(checked: CheckedStore, array: NodeView) -> tuple[object, ...]:
    """Return the metadata of an array that rules read: its group, document, level and some attributes."""
    prefixes = (*_OTHER_ATTRIBUTES, *checked.tree.memo(None, _prefixes_of_conventions))
    level, attributes = level_of(array), []
    for key in array.attributes:
        text = array.attributes.text(key) or b""
        is_read = key.startswith(prefixes) or "convention" in key.lower() or "/" in key
        if is_read or text.startswith(b"[") or may_refer(text):
            attributes.append((key, text))
    items = () if level is None else tuple(item.keys for item in level.items)
    return array.node.group, array.document.text_without_attributes(), tuple(attributes), items


def _prefixes_of_conventions() -> tuple[str, ...]:
    """Return the prefixes of the attributes that conventions describe, or the names of those without a prefix."""
    described = chain.from_iterable(convention.described for convention in declarable())
    return tuple(attribute.prefix or attribute.key for attribute in described)


def _mistakes_by_plugin(
    handler: Handler, checked: CheckedStore, subject: NodeView
) -> Iterable[Finding]:
    """Return the mistakes that the rules of a plug-in find.

    If the plug-in raises an error, warn, return no mistakes, and do not call its rules again for this store.
    """
    try:
        with converting_errors():
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
