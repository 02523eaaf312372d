"""The attributes of conventions: what their descriptions say of them, and whether they are declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from operator import methodcaller

from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.declaring import ATTRIBUTE as DECLARATIONS
from zarr_xgroup.conventions.declaring import (
    DECLARED,
    SPELLING,
    USED,
    declarations,
    is_declared,
    items_in,
    matches,
)
from zarr_xgroup.conventions.descriptions import (
    Attribute,
    misspelt,
)
from zarr_xgroup.conventions.layout import Multiscales
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.ref import WrittenReference
from zarr_xgroup.conventions.registry import BUILT_IN, Handler, declarable, handlers
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.errors import Severity
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import may_refer, references_in, unwrapped
from zarr_xgroup.report.rules.declarations import declaration, stands_for
from zarr_xgroup.report.rules.subject import Subject, null

#: Without a declaration of these nothing is lost: they are read all the same.
_READ_ALL_THE_SAME = (ProjHandler, Multiscales)

#: In what conventions without a prefix may be written, too.
_HOLDING = (*(it.key for it in CsHandler.described), Multiscales.name)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of the conventions built in that a node follows."""
    for convention in declarable():
        yield from _undeclared(subject, convention)
    yield from _unused(subject)
    for convention in declarable():
        yield from _spelling(subject, convention)
        if convention in BUILT_IN or convention not in handlers():
            yield from of_convention(convention, subject)
    if subject.store.declares_something:
        yield from _references(subject)


def is_meant(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether attributes of a node are to be read by a convention: declared, assumed, or beyond doubt."""
    if convention.name in subject.store.assumed or subject.is_declared(convention):
        return True
    return any(it.is_unmistakable(subject.attributes) for it in convention.described)


# What descriptions say.


def of_convention(convention: Handler, subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of a convention, if a node follows it."""
    if not (convention.described and is_meant(subject, convention)):
        return
    for whole in dict.fromkeys(it.whole for it in convention.described if it.whole):
        yield from (it.at(subject.node) for it in whole.read(subject.all_attributes).wrong)
    for attribute in convention.described:
        written = subject.attribute(attribute.key)
        if attribute.whole is not None:
            continue
        if written is not None:
            yield from _found(attribute, written, is_array=subject.is_array)
        else:
            yield from null(subject, attribute)


def _found(attribute: Attribute, written: Fragment, *, is_array: bool) -> Iterator[Finding]:
    """Yield that an attribute has no place at a node, or what is wrong with it."""
    if attribute.on in (None, "array" if is_array else "group"):
        yield from (it.at(written.node) for it in attribute.all_wrong(written))
    elif attribute.misplaced is not None:
        text = "is an attribute of a group: the convention is about arrays"
        remedy = "write it on each array"
        if is_array:
            text = "is an attribute of an array: the convention is about groups"
            remedy = "write it on the group"
        yield report(attribute.misplaced, written, text, remedy, severity="warning")


def _references(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with references, which any attribute may hold."""
    for key in subject.attributes:
        attribute = subject.attribute(key) if may_refer(subject.attributes.text(key)) else None
        for reference in () if attribute is None else references_in(attribute):
            wrong = WrittenReference.read(unwrapped(reference)).wrong
            yield from (it.at(subject.node) for it in wrong)


def _spelling(subject: Subject, convention: Handler) -> Iterator[Finding]:
    """Yield prefixed attributes that were probably meant to be others."""
    prefix = _prefix(convention)
    keys = [key for key in subject.attributes if prefix and key.startswith(prefix)]
    others = {key for it in convention.described for key in it.unless}
    for key, meant in misspelt(keys, [it.key for it in convention.described], others).items():
        text = f"{key!r} means nothing in {convention.name!r}"
        remedy = f'call the attribute "{meant}"'
        yield report(SPELLING, subject.all_attributes.place(key), text, remedy)


def _prefix(convention: type[ConventionHandler]) -> str:
    """Return how all attributes of a convention begin, "" where they have names of their own."""
    return next((it.prefix for it in convention.described), "")


# Attributes without a declaration, and declarations without attributes.


def _undeclared(subject: Subject, convention: Handler) -> Iterator[Finding]:
    """Yield attributes that are of a convention that nobody declares for them."""
    others = "group" if subject.is_array else "array"
    here = (it for it in convention.described if it.is_unmistakable(subject.attributes))
    keys = [it.key for it in here if it.on != others]
    if not keys or _is_covered(subject, convention):
        return  # by one of its items, too, that was meant to: that it does not count is told there
    text = "attributes of the convention {name!r}, which is not declared: {keys}".format(
        name=convention.name, keys=", ".join(keys)
    )
    remedy = f'add {declaration(convention)} to the list "{DECLARATIONS.key}" of the node'
    severity: Severity = "warning" if issubclass(convention, _READ_ALL_THE_SAME) else "error"
    yield report(DECLARED, subject.all_attributes.place(keys[0]), text, remedy, severity=severity)


def _is_covered(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether a node declares a convention, or its group, or for prefixed attributes any above."""
    if any(stands_for(it, convention) for it in declarations(subject.attributes)):
        return True
    if _prefix(convention):
        return subject.is_declared(convention)
    around = [subject] if subject.group is None else [subject, subject.group]
    return any(is_declared(convention, it.attributes) for it in around)


def _unused(subject: Subject) -> Iterator[Finding]:
    """Yield declarations of a convention of which there is no attribute."""
    written = subject.attribute(DECLARATIONS.key)
    items = items_in(written) if written is not None and isinstance(written.value, list) else ()
    for item, convention in product(items, declarable()):
        needed = [f'"{it.key}"' for it in convention.described if it.is_needed]
        if needed and _declares(item.value, convention) and not _is_used(subject, convention):
            names = _any_of(needed)
            text = f"{convention.name!r} is declared, but there is no {names}"
            remedy = f"add {names}, or leave this item out"
            yield report(USED, item, text, remedy)


def _declares(item: object, convention: Handler) -> bool:
    """Tell whether a declaration is, and was meant to be, of a convention."""
    return isinstance(item, OBJECT) and matches(convention, item) and stands_for(item, convention)


def _any_of(names: Sequence[str]) -> str:
    *others, last = names
    return "{names} or {last}".format(names=", ".join(others), last=last) if others else last


def _is_used(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether there is an attribute of a convention that is declared at a node.

    What a group declares is for what is in it, too; an array may have the attributes of its group.
    """
    nodes = [subject] if subject.is_array else [subject, *subject.below()]
    if convention is SpatialHandler and subject.is_array:
        nodes += subject.ancestors()
    return any(_uses(it, convention) for it in nodes)


def _uses(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether a node has attributes of a convention, or others that hold such.

    In a CRS of `cs` may be a geolocation, and units; in any attribute a prefixed one.
    """
    attributes, prefix = subject.attributes, _prefix(convention)
    if any(it.key in attributes for it in convention.described):
        return True
    if prefix:
        keys = [key for key in attributes if key != DECLARATIONS.key]
        return any(map(methodcaller("startswith", prefix), keys)) or _quotes(subject, keys, prefix)
    marks = [f'{mark}"' for it in convention.described for mark in it.marks]
    return any(_quotes(subject, _HOLDING, mark) for mark in marks)


def _quotes(subject: Subject, keys: Iterable[str], start: str) -> bool:
    """Tell whether a string of some attributes, or a key in them, begins so."""
    texts = (subject.attributes.text(key) or b"" for key in keys)
    return any(f'"{start}'.encode() in text for text in texts)
