"""Rules about references between nodes, and remedies for those that cannot be resolved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from posixpath import relpath

from msgspec.structs import replace

from zarr_xgroup.conventions import cf
from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.ref import FIRST, OWN, REFERENCE, SOMEWHERE
from zarr_xgroup.findings import Finding, Place, new_finding, node_and_pointer
from zarr_xgroup.metadata.cf import ALONG, LISTS, REFERRING, candidate_paths, with_names
from zarr_xgroup.metadata.references import NODE, POINTER, URI, WRAPPED
from zarr_xgroup.report.explanation import FoundReference, parent_of
from zarr_xgroup.report.rules.checked import CheckedStore

#: How many further candidates a remedy names, so that it stays one line.
_NAMED = 3

#: An array with one of these attributes can be a grid mapping variable.
_GRID_MAPPING_ATTRIBUTES = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


def check(
    references: Iterable[FoundReference], reported: Collection[Finding], checked: CheckedStore
) -> Iterator[Finding]:
    """Yield references that cannot be resolved, that have the URI of the store itself, or that need a fallback rule.

    Parameters
    ----------
    references : iterable of FoundReference
        The references that were followed.
    reported : collection of Finding
        The mistakes that other rules report. References at their places, or with malformed members, are omitted.
    checked : CheckedStore
        The store.
    """
    places = _places_of(reported)
    of_cf: defaultdict[Place, list[FoundReference]] = defaultdict(list)
    for reference in references:
        source, target = reference.source, reference.leads_to
        if source.store is not None or source in places:
            continue
        if target is None and _cf_attribute(source, checked) is not None:
            of_cf[source].append(reference)
        elif target is None:
            text = f"{reference.target!r}: {reference.text}"
            yield new_finding(
                SOMEWHERE, source, text, _remedy_for_lost_reference(reference, checked)
            )
        elif target.store is None:
            yield from _better_reference(reference, target)
    for place, lost in of_cf.items():
        if (attribute := _cf_attribute(place, checked)) is not None:
            text = "; ".join(f"{reference.target!r} {reference.text}" for reference in lost)
            names = [reference.target for reference in lost]
            remedy = _remedy_for_cf_names(checked, *attribute, names)
            yield new_finding(cf.SOMEWHERE, place, text, remedy)


def _places_of(reported: Iterable[Finding]) -> set[Place]:
    """Return the places of mistakes, and of references that have a malformed member."""
    places = set()
    for mistake in reported:
        for place in (mistake.place, *mistake.places):
            places.add(place)
            holder, _slash, key = place.pointer.rpartition("/")
            if mistake.rule is REFERENCE and key in (NODE, URI, POINTER):
                pointers = (holder, holder.removesuffix(f"/{WRAPPED}"))
                places.update(replace(place, pointer=pointer) for pointer in pointers)
    return places


def _better_reference(reference: FoundReference, target: Place) -> Iterator[Finding]:
    """Yield a warning if a reference to a node of the store has the store's own URI, or needed a fallback rule."""
    uri, bar, _rest = reference.target.rpartition("|")
    if bar:
        text = f"the uri {uri} is that of the store itself"
        remedy = f'remove "uri", and {write(NODE, target.node)}'
        yield new_finding(OWN, reference.source, text, remedy, severity="warning")
    elif reference.by_fallback:
        text = f"{reference.target!r} does not fit relative to the group of the array; {target.node} was used"
        remedy = write(NODE, target.node)
        if reference.arrays == (reference.source.node,):
            remedy = f"{write(NODE, _path_from_group(reference, target.node))}, or {remedy}"
        yield new_finding(FIRST, reference.source, text, remedy, severity="warning")


def _path_from_group(reference: FoundReference, node: str) -> str:
    """Return the path of a node relative to the group of the referring array, as the first rule resolves it."""
    array = next(iter(reference.arrays), reference.source.node)
    return relpath(node, parent_of(array))


def _remedy_for_lost_reference(reference: FoundReference, checked: CheckedStore) -> str:
    """Return the remedy for an unresolved reference: other nodes with the same last segment, if they exist."""
    uri, _bar, target = reference.target.rpartition("|")
    if uri:
        return "correct the URI or the path, or make the store readable"
    name = node_and_pointer(target)[0].rstrip("/").rpartition("/")[2]
    tried = {word.rstrip(",;:") for word in reference.text.split()} | {reference.source.node}
    named = checked.by_name.get(name, ()) if name else ()
    found = list(islice((node for node in named if node not in tried), _NAMED + 1))
    if not found:
        return "refer to an existing node that fits, or remove the reference"
    remedy = write(NODE, _path_from_group(reference, found[0]))
    return f"{remedy} (or {', '.join(found[1:])})" if found[1:] else remedy


# Names and paths in CF attributes.


def _cf_attribute(place: Place, checked: CheckedStore) -> tuple[NodeView, str, str] | None:
    """Return the node, name and text of the CF attribute at a place, None if it is not one that names arrays."""
    subject, key = checked.node(place.node.strip("/")), place.pointer.rpartition("/")[2]
    if subject is None or key not in REFERRING:
        return None
    text = subject.attributes.get(key)
    return (subject, key, text) if isinstance(text, str) else None


def _remedy_for_cf_names(
    checked: CheckedStore, subject: NodeView, key: str, text: str, names: Iterable[str]
) -> str:
    """Return the remedy for a CF attribute with names of missing arrays."""
    nearest = {name: _nearest_fitting_array(checked, subject, key, name) for name in names}
    meant = {name: path for name, path in nearest.items() if path is not None}
    missing = [name for name in nearest if name not in meant]
    if not missing:
        return write(key, with_names(key, text, meant))
    if key == "cell_measures":
        listed = f'"external_variables": "{" ".join(missing)}"'
        return f"name existing arrays, or write {listed} on the root if they are in other files"
    rest = " ".join(name for name in text.split() if name not in missing)
    if key in LISTS and rest:
        return f"name an existing array, or {write(key, with_names(key, rest, meant))}"
    return f'name an existing array, or remove "{key}"'


def _nearest_fitting_array(
    checked: CheckedStore, subject: NodeView, key: str, written: str
) -> str | None:
    """Return the name or path, for a CF attribute, of the nearest array of the same name that fits, or None.

    The search starts in the group of the referring array and the groups below it, then in each group above. The result is the
    bare name if CF finds the array by it, otherwise the relative path.
    """
    name, group = written.rstrip("/").rpartition("/")[2], subject.node.group
    paths = checked.by_name.get(name, ())
    for above in (group, *group.ancestors()):
        below = [path for path in paths if path.startswith(f"{above}/".replace("//", "/"))]
        for path in sorted(below, key=lambda path: (path.count("/"), path)):
            if _can_be_named_by(subject, key, checked.node(path.strip("/"))):
                nodes = map(checked.node, candidate_paths(name, group.path))
                first = next((node for node in nodes if node is not None and node.is_array), None)
                is_first = first is not None and str(first.node) == path
                return name if is_first else relpath(path, str(group))
    return None


def _can_be_named_by(subject: NodeView, key: str, other: NodeView | None) -> bool:
    """Return whether a node is an array with the dimensions or attributes that a CF attribute of an array requires."""
    if other is None or not other.is_array or other.node == subject.node:
        return False
    if key in ALONG:
        return other.sizes.items() <= subject.sizes.items() and len(other.sizes) == len(other.dims)
    if key == "grid_mapping":
        return not _GRID_MAPPING_ATTRIBUTES.isdisjoint(other.attributes)
    if key == "formula_terms":
        return True
    # Bounds have one dimension more than their coordinate: the vertices of a cell.
    return other.dims[:-1] == subject.dims
