"""References: where they lead, and what to write instead of those that lead nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from posixpath import relpath

from zarr_xgroup.conventions import cf
from zarr_xgroup.conventions.checked import CheckedNode, CheckedStore
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.ref import FIRST, OWN, SOMEWHERE
from zarr_xgroup.findings import Finding, Place, report
from zarr_xgroup.metadata.cf import ALONG, LISTS, REFERRING, candidate_paths, with_names
from zarr_xgroup.metadata.references import NODE
from zarr_xgroup.report.explanation import FoundReference

#: How many nodes that may be meant a remedy names besides the first.
_NAMED = 3

#: Attributes that a grid mapping variable has at least one of.
_OF_MAPPINGS = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


def check(
    references: Iterable[FoundReference], told: Collection[Finding], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield references that lead nowhere, or only by another rule than the first.

    Parameters
    ----------
    references : iterable of FoundReference
        The references that were followed.
    told : collection of Finding
        What other rules tell: what is no reference at all is among it.
    checked : CheckedStore
        The store.
    """
    places = {place for mistake in told for place in (mistake.place, *mistake.places)}
    of_cf: defaultdict[Place, list[FoundReference]] = defaultdict(list)
    for reference in references:
        source, target = reference.source, reference.leads_to
        if source.store is not None or source in places:
            continue
        if target is None and _cf_attribute(source, checked) is not None:
            of_cf[source].append(reference)
        elif target is None:
            text = f"{reference.target!r}: {reference.text}"
            yield report(SOMEWHERE, source, text, _node_meant(reference, checked))
        elif target.store is None:
            yield from _otherwise(reference, target)
    for place, lost in of_cf.items():
        if (attribute := _cf_attribute(place, checked)) is not None:
            text = "; ".join(f"{reference.target!r} {reference.text}" for reference in lost)
            names = [reference.target for reference in lost]
            yield report(cf.SOMEWHERE, place, text, _names_meant(*attribute, names))


def _otherwise(reference: FoundReference, target: Place) -> Iterator[Finding]:
    """Yield what to write otherwise of a reference that leads to a node of the store."""
    uri, bar, _rest = reference.target.rpartition("|")
    if bar:
        text = f"the uri {uri} is that of the store itself"
        remedy = f'leave "uri" out, and {write(NODE, target.node)}'
        yield report(OWN, reference.source, text, remedy, severity="warning")
    elif reference.by_fallback:
        text = f"{reference.target!r} leads to nothing that fits from the group of the array; {target.node} was taken"
        remedy = write(NODE, target.node)
        if reference.arrays == (reference.source.node,):
            remedy = f"{write(NODE, _from_group(reference, target.node))}, or {remedy}"
        yield report(FIRST, reference.source, text, remedy, severity="warning")


def _from_group(reference: FoundReference, node: str) -> str:
    """Return the path of a node as the first rule finds it: from the group of the array."""
    array = next(iter(reference.arrays), reference.source.node)
    return relpath(node, array.rpartition("/")[0] or "/")


def _node_meant(reference: FoundReference, checked: CheckedStore) -> str:
    """Return what to write instead of a reference that leads nowhere: a node that is called as the last of its path."""
    uri, _bar, target = reference.target.rpartition("|")
    if uri:
        return "correct the URI or the path, or make the store readable where it is"
    name = target.partition("#")[0].rstrip("/").rpartition("/")[2]
    tried = {word.rstrip(",;:") for word in reference.text.split()}
    others = (
        node
        for node in (checked.by_name.get(name, ()) if name else ())
        if node not in tried and node != reference.source.node
    )
    found = list(islice(others, _NAMED + 1))
    if not found:
        return "refer to a node that is there and fits, or leave the reference out"
    remedy = write(NODE, _from_group(reference, found[0]))
    return f"{remedy} (or {', '.join(found[1:])})" if found[1:] else remedy


# Names and paths in CF attributes.


def _cf_attribute(place: Place, checked: CheckedStore) -> tuple[CheckedNode, str, str] | None:
    """Return the node, name and text of a CF attribute that names arrays; None if there is none at a place."""
    subject, key = checked.node(place.node.strip("/")), place.pointer.rpartition("/")[2]
    if subject is None or key not in REFERRING:
        return None
    text = subject.attributes.get(key)
    return (subject, key, text) if isinstance(text, str) else None


def _names_meant(subject: CheckedNode, key: str, text: str, names: Iterable[str]) -> str:
    """Return what to write in a CF attribute of whose names some lead to no array."""
    found = {name: _nearest(subject, key, name) for name in names}
    meant = {name: path for name, path in found.items() if path is not None}
    missing = [name for name in found if name not in meant]
    if not missing:
        return write(key, with_names(key, text, meant))
    if key == "cell_measures":
        listed = f'"external_variables": "{" ".join(missing)}"'
        return (
            f"name arrays that are there, or write {listed} on the root if they are in other files"
        )
    rest = " ".join(name for name in text.split() if name not in missing)
    if key in LISTS and rest:
        return f"name an array that is there, or {write(key, with_names(key, rest, meant))}"
    return f'name an array that is there, or leave "{key}" out'


def _nearest(subject: CheckedNode, key: str, written: str) -> str | None:
    """Return the name or path of the nearest array that has the same name and fits, as CF resolves it.

    It is below the group of the array that refers to it, or below a group above that.
    """
    name, group = written.rstrip("/").rpartition("/")[2], subject.node.group
    paths = subject.store.by_name.get(name, ())
    for above in (group, *group.ancestors()):
        below = [path for path in paths if path.startswith(f"{above}/".replace("//", "/"))]
        for path in sorted(below, key=lambda path: (path.count("/"), path)):
            if _fits(subject, key, path):
                nodes = map(subject.store.node, candidate_paths(name, group.path))
                first = next((node for node in nodes if node is not None and node.is_array), None)
                is_first = first is not None and str(first.node) == path
                return name if is_first else relpath(path, str(group))
    return None


def _fits(subject: CheckedNode, key: str, path: str) -> bool:
    """Tell whether an array can be what an attribute of another one names."""
    other = subject.store.node(path.strip("/"))
    if other is None or not other.is_array or other.node == subject.node:
        return False
    if key in ALONG:
        return other.sizes.items() <= subject.sizes.items() and len(other.sizes) == len(other.dims)
    if key == "grid_mapping":
        return not _OF_MAPPINGS.isdisjoint(other.attributes)
    if key == "formula_terms":
        return True
    return other.dims[:-1] == subject.dims
