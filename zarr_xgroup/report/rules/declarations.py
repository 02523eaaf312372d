"""How nodes declare conventions: the attribute ``zarr_conventions``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from operator import methodcaller
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.declaring import declarations, is_declared, matches
from zarr_xgroup.conventions.layout import Multiscales
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.registry import declarable
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.conventions.spelling import misspelt
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.report.rules.subject import Severity, Subject, got, mistake, shown

FRAMEWORK = "Zarr conventions specification (zarr-conventions/zarr-conventions-spec)"

LIST = Rule("conventions/list-of-objects", FRAMEWORK, "Convention registration")
IDENTIFIED = Rule("conventions/identified", FRAMEWORK, "Convention identity")
TEXTS = Rule("conventions/texts", FRAMEWORK, "Convention identity")
KNOWN = Rule("conventions/counts-for-something", FRAMEWORK, "Convention identity")
ONCE = Rule("conventions/declared-once", FRAMEWORK, "Convention registration")
DECLARED = Rule("conventions/declared", FRAMEWORK, "Convention registration")
USED = Rule("conventions/used", FRAMEWORK, "Convention registration")
KEY = Rule("conventions/spelling-of-zarr_conventions", FRAMEWORK, "Convention registration")
SPELLING = Rule("conventions/spelling-of-attributes", FRAMEWORK, "Attribute names and prefixes")

RULES = (LIST, IDENTIFIED, TEXTS, KNOWN, ONCE, DECLARED, USED, KEY, SPELLING)

_IDENTIFIERS = ("uuid", "schema_url", "spec_url")
_TEXTS = (*_IDENTIFIERS, "name", "description")

#: How much alike two uuids are of which one is a slip of the other.
_ALIKE = 0.9

#: Without a declaration of these nothing is lost: they are read all the same.
_READ_ALL_THE_SAME = (ProjHandler, Multiscales)


class _Nz(ConventionHandler):
    """The structure convention NZ-1.0."""

    tier = "service"
    name = "NZ-1.0"
    uuid: ClassVar[str | None] = "d0a980b5-c644-4dcc-85a1-283799a58f40"
    repositories = ("zarr-conventions/nz",)


def conventions() -> list[type[ConventionHandler]]:
    """Return all conventions that are known by an identity."""
    known: list[type[ConventionHandler]] = [*declarable(), _Nz]
    return [it for it in known if it.uuid is not None or it.repositories]


def is_meant(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether attributes of a node are to be read by a convention: declared, or beyond doubt."""
    is_beyond_doubt = any(it.is_unmistakable(subject.attributes) for it in convention.described)
    return is_beyond_doubt or subject.is_declared(convention)


def _prefix(convention: type[ConventionHandler]) -> str:
    """Return how all attributes of a convention begin, "" where they have names of their own."""
    return next((it.prefix for it in convention.described), "")


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with what a node declares, or does not."""
    yield from _spelling_of_key(subject)
    written = subject.attribute(CONVENTIONS_KEY)
    if written is not None:
        yield from _items(written)
        yield from _twice(subject, written)
    yield from _undeclared(subject)
    yield from _unused(subject)
    yield from _spelling(subject)


def declaration(convention: type[ConventionHandler]) -> str:
    """Return how a convention is declared."""
    if convention.uuid is None:
        return f'{{"name": "{convention.name}"}}'
    return f'{{"uuid": "{convention.uuid}", "name": "{convention.name}"}}'


def _add(convention: type[ConventionHandler]) -> str:
    return _('add {item} to the list "{key}" of the node').format(
        item=declaration(convention), key=CONVENTIONS_KEY
    )


def _spelling_of_key(subject: Subject) -> Iterator[Finding]:
    keys = [key for key in subject.attributes if "convention" in key.lower()]
    others = frozenset({"conventions", "Conventions"})
    for key in misspelt(keys, [CONVENTIONS_KEY], others):
        text = _("{key!r} means nothing: no convention is declared by it").format(key=key)
        remedy = _('call the attribute "{key}"').format(key=CONVENTIONS_KEY)
        yield mistake(KEY, subject.all_attributes, text, remedy, key=key)


def _items(written: Fragment) -> Iterator[Finding]:
    if isinstance(written.value, OBJECT):
        if len(declarations({CONVENTIONS_KEY: written.value})) == len(written.value):
            return  # framework 0.1.0
    elif isinstance(written.value, list):
        for item in written.items():
            yield from _item(item)
        return
    text = got(_("a list of objects"), written.value)
    example = f'"{CONVENTIONS_KEY}": [{declaration(CsHandler)}]'
    yield mistake(LIST, written, text, _("write, for example, {example}").format(example=example))


def _item(item: Fragment) -> Iterator[Finding]:
    """Yield what is wrong with one declaration."""
    if not isinstance(item.value, OBJECT):
        remedy = _add_uuid(_named(item.value) or CsHandler)
        yield mistake(LIST, item, got(_("an object"), item.value), remedy)
        return
    for key in _TEXTS:
        if key in item.value and not isinstance(item.value[key], str):
            text = got(_("a string"), item.value[key])
            remedy = _("write a string, or leave {key!r} out").format(key=key)
            severity: Severity = "error" if key in _IDENTIFIERS else "warning"
            yield mistake(TEXTS, item, text, remedy, severity, key=key)
    yield from _identity(item)


def _identity(item: Fragment) -> Iterator[Finding]:
    """Yield that a declaration has no identity, or another one than it is called by."""
    meant = _meant(item.value)
    if not any(key in item.value for key in _IDENTIFIERS):
        text = _("has none of 'uuid', 'schema_url', 'spec_url': it is declared by name only")
        remedy = _('add "uuid"') if meant is None else _add_uuid(meant)
        is_lost = meant is not None and not matches(meant, item.value)
        severity: Severity = "error" if is_lost else "warning"
        yield mistake(IDENTIFIED, item, text, remedy, severity)
    elif meant is not None and not matches(meant, item.value):
        key = next(key for key in _IDENTIFIERS if isinstance(item.value.get(key), str))
        text = _("{key} {value} is not that of {name!r}: this does not declare it")
        text = text.format(key=key, value=shown(item.value[key]), name=meant.name)
        yield mistake(KNOWN, item, text, _add_uuid(meant), key=key)


def _add_uuid(meant: type[ConventionHandler]) -> str:
    return _("write {item}").format(item=declaration(meant))


def _named(name: object) -> type[ConventionHandler] | None:
    """Return the convention that is called so, or nearly so."""
    if not isinstance(name, str):
        return None
    known = {it.name.lower(): it for it in conventions()}
    word = name.strip().rstrip(":").lower()
    close = get_close_matches(word, known, 1, 0.75) if len(word) > 2 else []
    return known.get(word) or next((known[it] for it in close), None)


def _meant(item: Mapping[str, Any]) -> type[ConventionHandler] | None:
    """Return the convention that a declaration is probably meant to be of.

    That is what it is called, else what it is, else whose URL it has, or nearly whose uuid or name.
    """
    urls = ({key: item[key]} for key in _IDENTIFIERS[1:] if key in item)
    for candidate in ({"name": item.get("name")}, item, *urls):
        found = next((it for it in conventions() if matches(it, candidate)), None)
        if found is not None:
            return found
    if any(key in item for key in _IDENTIFIERS):
        return _of_uuid(item.get("uuid"))
    return _named(item.get("name"))


def _of_uuid(uuid: object) -> type[ConventionHandler] | None:
    """Return the convention that has a uuid, but for a slip."""
    known = {it.uuid: it for it in conventions() if it.uuid is not None}
    close = get_close_matches(uuid, known, 1, _ALIKE) if isinstance(uuid, str) else []
    return known[close[0]] if close else None


def _is_meant_by_an_item(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether a declaration of a node was meant to be of a convention: that is told there."""
    written = subject.attributes.get(CONVENTIONS_KEY)
    items = written if isinstance(written, list) else []
    return any(isinstance(it, OBJECT) and _stands_for(it, convention) for it in items)


def _stands_for(item: Mapping[str, Any], convention: type[ConventionHandler]) -> bool:
    meant = _meant(item)
    return meant is not None and meant.name == convention.name


def _twice(subject: Subject, written: Fragment) -> Iterator[Finding]:
    found: set[type[ConventionHandler]] = set()
    if not isinstance(written.value, list):
        return
    for item in written.items():
        if not isinstance(item.value, OBJECT):
            continue
        for it in conventions():
            if matches(it, item.value):
                if it in found:
                    text = _("{name!r} is declared a second time").format(name=it.name)
                    yield mistake(ONCE, item, text, _("leave this item out"), "warning")
                found.add(it)


def _undeclared(subject: Subject) -> Iterator[Finding]:
    """Yield attributes that are of a convention that nobody declares for them."""
    kind = "array" if subject.is_array else "group"
    for convention in declarable():
        here = (it for it in convention.described if it.on in (None, kind))
        keys = [it.key for it in here if it.is_unmistakable(subject.attributes)]
        if not keys or _is_told_elsewhere(subject, convention):
            continue
        text = _("attributes of the convention {name!r}, which is not declared: {keys}").format(
            name=convention.name, keys=", ".join(keys)
        )
        severity: Severity = "warning" if issubclass(convention, _READ_ALL_THE_SAME) else "error"
        place = subject.all_attributes
        yield mistake(DECLARED, place, text, _add(convention), severity, key=keys[0])


def _is_told_elsewhere(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether a convention is declared for a node, or an item of it was meant to."""
    return _is_covered(subject, convention) or _is_meant_by_an_item(subject, convention)


def _is_covered(subject: Subject, convention: type[ConventionHandler]) -> bool:
    """Tell whether a node declares a convention, or its group, or for prefixed attributes any above."""
    if _prefix(convention):
        return subject.is_declared(convention)
    around = [subject] if subject.group is None else [subject, subject.group]
    return any(is_declared(convention, it.attributes) for it in around)


def _unused(subject: Subject) -> Iterator[Finding]:
    """Yield declarations of a convention of which there is no attribute."""
    written = subject.attribute(CONVENTIONS_KEY)
    items = written.items() if written is not None and isinstance(written.value, list) else ()
    for item in items:
        for convention in declarable() if isinstance(item.value, OBJECT) else ():
            if not (convention.described and matches(convention, item.value)):
                continue
            if _stands_for(item.value, convention) and not is_used(subject, convention):
                needed = _needed(convention)
                text = _("{name!r} is declared, but there is no {needed}").format(
                    name=convention.name, needed=needed
                )
                remedy = _("add {needed}, or leave this item out").format(needed=needed)
                yield mistake(USED, item, text, remedy)


def _needed(convention: type[ConventionHandler]) -> str:
    """Return what there has to be where a convention is declared: one of its attributes."""
    *others, last = (f'"{it.key}"' for it in convention.described if it.is_needed)
    return _("{names} or {last}").format(names=", ".join(others), last=last) if others else last


def is_used(subject: Subject, convention: type[ConventionHandler]) -> bool:
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
        keys = [key for key in attributes if key != CONVENTIONS_KEY]
        return any(map(methodcaller("startswith", prefix), keys)) or _quotes(subject, keys, prefix)
    marks = [f'{mark}"' for it in convention.described for mark in it.marks]
    return any(_quotes(subject, _OF_CS, mark) for mark in marks)


def _quotes(subject: Subject, keys: Iterable[str], start: str) -> bool:
    """Tell whether a string of some attributes, or a key in them, begins so."""
    texts = (subject.attributes.text(key) or b"" for key in keys)
    return any(f'"{start}'.encode() in text for text in texts)


#: In what conventions without a prefix may be written, too.
_OF_CS = tuple(it.key for it in CsHandler.described)


def _spelling(subject: Subject) -> Iterator[Finding]:
    """Yield prefixed attributes that were probably meant to be others."""
    for convention in declarable():
        prefix = _prefix(convention)
        keys = [key for key in subject.attributes if prefix and key.startswith(prefix)]
        known = [it.key for it in convention.described]
        others = {key for it in convention.described for key in it.unless}
        for key, meant in misspelt(keys, known, others).items():
            text = _("{key!r} means nothing in {name!r}").format(key=key, name=convention.name)
            remedy = _('call the attribute "{key}"').format(key=meant)
            yield mistake(SPELLING, subject.all_attributes, text, remedy, key=key)
