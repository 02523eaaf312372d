"""The rules of `check`, in addition to those that opening a store applies.

A rule is a pure function of the metadata of a store. It yields mistakes, each with its place and a remedy. The text of a
mistake does not name the node, so that the same mistake in many nodes is reported once.

A new rule is a `Rule` in the module that describes its convention and in the handler's `rules`; otherwise in the `RULES` of a
module here, with a function that reports it (for a node, listed in `_CHECKS`). Add a store that breaks it to `CASES` of the tests.
`scripts/make_rules_page.py` adds both to the page, where you write what the example does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from zarr_xgroup.conventions import declaring
from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.registry import BUILT_IN, WITHOUT_COORDINATES, Handler, handlers
from zarr_xgroup.conventions.result_types import require
from zarr_xgroup.errors import Rule, XGroupError, XGroupPluginWarning, converting_errors, warn_user
from zarr_xgroup.findings import Finding
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
    (arrays.check_sizes, False),
)

_RULES_OF = (
    declaring.RULES,
    arrays.RULES,
    stores.RULES,
    *(convention.rules for convention in _BUILT_IN),
)
#: All built-in rules.
RULES: tuple[Rule, ...] = tuple(dict.fromkeys(chain.from_iterable(_RULES_OF)))


def mistakes_of(checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield the mistakes in one group or array that break built-in rules or rules of plug-ins."""
    for check, is_for_all in _CHECKS:
        if is_for_all or checked.declares_something:
            yield from check(checked, subject)
    for convention in _BUILT_IN:
        is_faulty = str(subject.node) in checked.faulty
        if convention is not CfHandler or checked.declares_something or is_faulty:
            yield from convention.check(subject)
    for handler in handlers():
        if handler not in BUILT_IN and handler not in checked.failed:
            yield from _mistakes_by_plugin(handler, checked, subject)


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
                require(finding, Finding, "a finding")
            return found
    except XGroupError as error:
        message = f"the rules of convention {handler.name!r} ({handler.__module__}) failed: {error}"
        checked.failed.add(handler)
        warn_user(XGroupPluginWarning(message, error))
        return []
