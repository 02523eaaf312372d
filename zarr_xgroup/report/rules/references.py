"""References: where they lead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from posixpath import relpath

from zarr_xgroup.conventions.ref import FIRST, OWN, SOMEWHERE
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Change, Finding, Place
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT
from zarr_xgroup.metadata.references import NODE, at_pointer, unwrapped
from zarr_xgroup.report.explanation import FoundReference
from zarr_xgroup.report.rules import cf_names
from zarr_xgroup.report.rules.subject import Checked, Severity, write

#: How many places that may be meant a remedy names.
_NAMED = 3


def check(
    references: Iterable[FoundReference], told: Collection[Finding], checked: Checked
) -> Iterator[Finding]:
    """Yield references that lead nowhere, or only by another rule than the first.

    Parameters
    ----------
    references : iterable of FoundReference
        The references that were followed.
    told : collection of Finding
        What other rules tell: what is no reference at all is among it.
    checked : Checked
        The store.
    """
    places = {place for it in told for place in (it.place, *it.places)}
    of_cf = []
    for it in references:
        if it.source.store is None and it.source not in places:
            if it.leads_to is None and cf_names.is_of_cf(it, checked):
                of_cf.append(it)
            elif it.leads_to is None:
                text = f"{it.target!r}: {it.text}"
                yield _nowhere(it, text, checked)
            elif it.leads_to.store is None:
                yield from _within(it, it.leads_to, checked)
    yield from cf_names.check(of_cf, checked)


def _within(reference: FoundReference, target: Place, checked: Checked) -> Iterator[Finding]:
    """Yield what to write otherwise of a reference that leads to a node of the store."""
    uri, bar, _rest = reference.target.rpartition("|")
    if bar:
        text = _("the uri {uri} is that of the store itself").format(uri=uri)
        remedy = _('leave "uri" out, and {write}').format(write=write(NODE, target.node))
        yield _mistake(OWN, reference, text, remedy, "warning")
    elif reference.by_fallback:
        text = _(
            "{target!r} leads to nothing that fits from the group of the array; {node} was taken"
        ).format(target=reference.target, node=target.node)
        path, remedy = target.node, write(NODE, target.node)
        if reference.arrays == (reference.source.node,):
            path = _relative(reference, target.node)
            remedy = _("{relative}, or {absolute}").format(
                relative=write(NODE, path), absolute=remedy
            )
        found = _mistake(FIRST, reference, text, remedy, "warning")
        yield replace(found, changes=_to(path, reference, checked))


def _to(path: str, reference: FoundReference, checked: Checked) -> tuple[Change, ...]:
    """Return the change by which a reference has another path."""
    source = reference.source
    subject = checked.subject(source.node.strip("/"))
    if source.store is not None or subject is None:
        return ()
    written = at_pointer(subject.node, subject.document, source.pointer)
    if isinstance(written.value, OBJECT):
        return (Change.writing(path, unwrapped(written), NODE),)
    return ()


def _mistake(
    rule: Rule, reference: FoundReference, text: str, remedy: str, severity: Severity
) -> Finding:
    return Finding(rule, reference.source, text, remedy, severity)


def _relative(reference: FoundReference, node: str) -> str:
    """Return the path of a node as the first rule finds it: from the group of the array."""
    array = next(iter(reference.arrays), reference.source.node)
    group = array.rpartition("/")[0] or "/"
    return relpath(node, group)


def _nowhere(reference: FoundReference, text: str, checked: Checked) -> Finding:
    """Return what to write instead of a reference that leads nowhere.

    It is beyond doubt if all of its path but for the first levels is that of one node, and of no other.
    """
    uri, _bar, target = reference.target.rpartition("|")
    if uri:
        remedy = _("correct the URI or the path, or make the store readable where it is")
        return _mistake(SOMEWHERE, reference, text, remedy, "error")
    named = _named_so(reference, target, checked)
    found = _mistake(SOMEWHERE, reference, text, _meant(reference, named), "error")
    path = target.partition("#")[0].strip("/")
    tail = "/" + path.lstrip("./")
    if len(named) != 1 or tail == "/" or not named[0].endswith(tail):
        return found
    return replace(found, changes=_to(_relative(reference, named[0]), reference, checked))


def _named_so(reference: FoundReference, target: str, checked: Checked) -> list[str]:
    """Return the nodes that are called as the last of a path, and were not tried."""
    name = target.partition("#")[0].rstrip("/").rpartition("/")[2]
    tried = reference.text
    named = checked.by_name.get(name, ()) if name else ()
    others = (it for it in named if f"{it} (" not in tried and it != reference.source.node)
    return list(islice(others, _NAMED + 1))


def _meant(reference: FoundReference, found: Sequence[str]) -> str:
    """Return what may be meant by a reference that leads nowhere: nodes that are called so."""
    if not found:
        return _("refer to a node that is there and fits, or leave the reference out")
    remedy = write(NODE, _relative(reference, found[0]))
    more = ", ".join(found[1:])
    return _("{remedy} (or {others})").format(remedy=remedy, others=more) if more else remedy
