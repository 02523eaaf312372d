"""The convention `cs`: the attribute ``cs`` of arrays, and the CRSs that groups share."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import cs_model
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.cs_model import (
    DOCUMENT,
    SHARED,
    Axis,
    CoordinateSet,
    Cs,
    System,
)
from zarr_xgroup.conventions.geolocation_model import ATTRIBUTE as GEOLOCATION
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node, Part
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Severity, Subject, follow, mistake, mistakes_at

EVERY = Rule("cs/axis-for-every-dimension", DOCUMENT, "axes")
LENGTH = Rule("cs/number-of-values", DOCUMENT, "values: explicit")

RULES = (*cs_model.RULES, EVERY, LENGTH)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with ``cs`` of an array, or with the CRSs that a group shares."""
    if subject.is_array:
        cs = subject.attribute("cs")
        if cs is not None and is_meant(subject, CsHandler):
            yield from _cs(subject, cs)
        return
    shared = subject.attribute("crs")
    if shared is not None and isinstance(shared.value, OBJECT):
        systems = {key: it for key, it in shared.value.items() if _is_system(it)}
        yield from mistakes_at(
            shared.node, SHARED.all_wrong(Fragment(shared.node, shared.keys, systems))
        )
        for key, system in systems.items():
            yield from _system(
                System.read(Fragment(shared.node, (*shared.keys, key), system)), shared.node
            )


def _is_system(value: object) -> bool:
    """Tell whether a member of a group's attribute ``crs``, which others use, too, is a CRS of `cs`."""
    return isinstance(value, OBJECT) and "axes" in value


def _cs(subject: Subject, cs: Fragment) -> Iterator[Finding]:
    if not isinstance(cs.value, OBJECT):
        return
    model = Cs.read(cs)
    for system in model.crs:
        if isinstance(system, System):
            yield from _system(system, cs.node)
    crs = cs.get("crs")
    if crs is not None and isinstance(crs.value, list):
        yield from _dimensions(subject, crs)


def _system(system: System, node: Node) -> Iterator[Finding]:
    """Yield what goes beyond the form of a CRS."""
    if system.geolocation is not None:
        yield from mistakes_at(node, GEOLOCATION.all_wrong(system.geolocation.at(node)))


# What goes with the array.


def _dimensions(subject: Subject, crs: Fragment) -> Iterator[Finding]:
    """Yield dimensions without an axis, and axes with another number of values."""
    found: dict[str, tuple[Node, Axis | Part]] = {}
    for item in crs.items():
        system = follow(subject, item)
        if system is None:
            return  # what it would have is not known; that it leads nowhere is told elsewhere
        if isinstance(system.value, OBJECT):
            found |= {name: (system.node, axis) for name, axis in System.read(system).axes}
    for name, size in subject.sizes.items():
        if name not in found:
            text = _("there is no axis for the dimension {name!r}").format(name=name)
            severity: Severity = "warning" if _has_array(subject, name) else "error"
            yield mistake(EVERY, crs, text, _axis_for(subject, name), severity)
        elif found[name][0] == subject.node:
            yield from _lengths(*found[name], size)


def _has_array(subject: Subject, name: str) -> bool:
    return name in subject.store.snapshot.listings.names(subject.node.group.path)


def _axis_for(subject: Subject, name: str) -> str:
    """Return the axis to add: with the array of the group that is called so, if there is one."""
    values = '{"regular": [first, step]}'
    if _has_array(subject, name):
        values = f'{{"external": {{"node": "{name}"}}}}'
    example = f'"{name}": {{"coordinates": [{{"values": {values}}}]}}'
    return _("add to the axes of one of the CRSs {example}").format(example=example)


def _lengths(node: Node, axis: Axis | Part, size: int) -> Iterator[Finding]:
    sets = axis.coordinates if isinstance(axis, Axis) else ()
    for item in sets:
        values = item.values if isinstance(item, CoordinateSet) else None
        if values is None or values.explicit is None or len(values.explicit) == size:
            continue
        text = _("has {number} values, but the dimension has {size}").format(
            number=len(values.explicit), size=size
        )
        remedy = _("write {size} values, or refer to an array of them").format(size=size)
        yield mistake(LENGTH, values.place(node, "explicit"), text, remedy)
