"""References: where they lead, and what to write instead of those that lead nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from posixpath import relpath

from zarr_xgroup.conventions import cf_paths
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.ref import FIRST, OWN, SOMEWHERE
from zarr_xgroup.errors import Rule, Severity
from zarr_xgroup.findings import Finding, Place, report
from zarr_xgroup.metadata.cf import ALONG, REFERRING, with_names, without_names
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.metadata.references import NODE
from zarr_xgroup.report.explanation import FoundReference
from zarr_xgroup.report.rules.subject import Checked, Subject

#: How many places that may be meant a remedy names.
_NAMED = 3

#: How many names that are alike are looked at, and how many arrays of each.
_MOST_NAMES, _MOST_ARRAYS = 5, 200

#: Attributes that a grid mapping variable has at least one of.
_OF_MAPPINGS = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


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
    of_cf: defaultdict[Place, list[FoundReference]] = defaultdict(list)
    for it in references:
        if it.source.store is None and it.source not in places:
            if it.leads_to is None and _names_at(it.source, checked) is not None:
                of_cf[it.source].append(it)
            elif it.leads_to is None:
                text = f"{it.target!r}: {it.text}"
                yield _nowhere(it, text, checked)
            elif it.leads_to.store is None:
                yield from _within(it, it.leads_to)
    for place, wrong in of_cf.items():
        if (written := _names_at(place, checked)) is not None:
            yield _names_of_nothing(*written, wrong)


def _within(reference: FoundReference, target: Place) -> Iterator[Finding]:
    """Yield what to write otherwise of a reference that leads to a node of the store."""
    uri, bar, _rest = reference.target.rpartition("|")
    if bar:
        text = f"the uri {uri} is that of the store itself"
        remedy = f'leave "uri" out, and {write(NODE, target.node)}'
        yield _mistake(OWN, reference, text, remedy, "warning")
    elif reference.by_fallback:
        text = f"{reference.target!r} leads to nothing that fits from the group of the array; {target.node} was taken"
        remedy = write(NODE, target.node)
        if reference.arrays == (reference.source.node,):
            path = _relative(reference, target.node)
            remedy = f"{write(NODE, path)}, or {remedy}"
        yield _mistake(FIRST, reference, text, remedy, "warning")


def _mistake(
    rule: Rule, reference: FoundReference, text: str, remedy: str, severity: Severity
) -> Finding:
    return report(rule, reference.source, text, remedy, severity=severity)


def _relative(reference: FoundReference, node: str) -> str:
    """Return the path of a node as the first rule finds it: from the group of the array."""
    array = next(iter(reference.arrays), reference.source.node)
    group = array.rpartition("/")[0] or "/"
    return relpath(node, group)


def _nowhere(reference: FoundReference, text: str, checked: Checked) -> Finding:
    """Return what to write instead of a reference that leads nowhere."""
    uri, _bar, target = reference.target.rpartition("|")
    if uri:
        remedy = "correct the URI or the path, or make the store readable where it is"
        return _mistake(SOMEWHERE, reference, text, remedy, "error")
    remedy = _meant(reference, _named_so(reference, target, checked))
    return _mistake(SOMEWHERE, reference, text, remedy, "error")


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
        return "refer to a node that is there and fits, or leave the reference out"
    remedy = write(NODE, _relative(reference, found[0]))
    more = ", ".join(found[1:])
    return f"{remedy} (or {more})" if more else remedy


# Names and paths in CF attributes.


def _names_at(place: Place, checked: Checked) -> tuple[Subject, Fragment] | None:
    """Return a CF attribute that names arrays, with its node; None if there is none at a place."""
    subject, key = checked.subject(place.node.strip("/")), place.pointer.rpartition("/")[2]
    attribute = subject.attribute(key) if subject is not None and key in REFERRING else None
    if subject is None or attribute is None or not isinstance(attribute.value, str):
        return None
    return subject, attribute


def _names_of_nothing(
    subject: Subject, attribute: Fragment, wrong: Iterable[FoundReference]
) -> Finding:
    """Return what is wrong with a CF attribute, of whose names some lead to no array."""
    key, written = attribute.keys[-1], attribute.value
    text = "; ".join(f"{it.target!r} {it.text}" for it in wrong)
    meant = {it.target: _name_of_nearest(subject, key, it.target) for it in wrong}
    remedy = _remedy_of_names(key, written, meant)
    return report(cf_paths.SOMEWHERE, attribute, text, remedy)


def _remedy_of_names(key: str, text: str, names: Mapping[str, str | None]) -> str:
    """Return what to write in an attribute, given what is meant by names that lead nowhere."""
    meant = {name: path for name, path in names.items() if path is not None}
    missing = [name for name in names if name not in meant]
    if not missing:
        return write(key, with_names(key, text, meant))
    if key == "cell_measures":
        listed = f'"external_variables": "{" ".join(missing)}"'
        remedy = (
            "name arrays that are there, or write {text} on the root if they are in other files"
        )
        return remedy.format(text=listed)
    rest = with_names(key, without_names(key, text, missing), meant)
    if not rest:
        return f'name an array that is there, or leave "{key}" out'
    return f"name an array that is there, or {write(key, rest)}"


def _name_of_nearest(subject: Subject, key: str, name: str) -> str | None:
    """Return the name or path of the array that was probably meant, as CF resolves it."""
    called = subject.store.called_like(name.rstrip("/").rpartition("/")[2])[:_MOST_NAMES]
    return next(filter(None, (_nearest(subject, key, it) for it in called)), None)


def _nearest(subject: Subject, key: str, called: str) -> str | None:
    """Return the nearest array of a name that fits: below the group of the referring one, or above."""
    group = subject.node.group
    for above in (group, *group.ancestors()):
        near = islice(subject.store.below(str(above), called), _MOST_ARRAYS)
        if fitting := [it for it in near if _fits(subject, key, it.strip("/"))]:
            path = min(fitting, key=lambda it: (it.count("/"), it))
            first = subject.named(called)
            is_first = first is not None and str(first.node) == path
            return called if is_first else relpath(path, str(group))
    return None


def _fits(subject: Subject, key: str, path: str) -> bool:
    """Tell whether an array can be what an attribute of another one names."""
    other = subject.store.subject(path)
    if other is None or not other.is_array or other.node == subject.node:
        return False
    if key in ALONG:
        return other.sizes.items() <= subject.sizes.items() and len(other.sizes) == len(other.dims)
    if key == "grid_mapping":
        return not _OF_MAPPINGS.isdisjoint(other.attributes)
    if key == "formula_terms":
        return True
    return other.dims[:-1] == subject.dims
