"""How nodes declare conventions: the attribute ``zarr_conventions``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from typing import Any

from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.declaring import (
    ATTRIBUTE,
    IDENTIFIED,
    IDENTIFIERS,
    KEY,
    KNOWN,
    NAMING,
    ONCE,
    SOME_OTHER,
    TEXTS,
    Declaration,
    is_of_other_things,
    items_in,
    matches,
    self_called,
)
from zarr_xgroup.conventions.descriptions import fields_of, misspelt, shown
from zarr_xgroup.conventions.registry import declarable
from zarr_xgroup.errors import Severity
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.report.rules.subject import Subject, null

#: How much alike two uuids are of which one is a slip of the other.
_ALIKE = 0.9


def _conventions() -> list[type[ConventionHandler]]:
    """Return all conventions that are known by an identity."""
    return [it for it in declarable() if it.uuid is not None or it.repositories]


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with what a node declares."""
    yield from _spelling_of_key(subject)
    written = subject.attribute(ATTRIBUTE.key)
    if written is None:
        yield from null(subject, ATTRIBUTE)
        return
    items = items_in(written)
    texts = {it.keys: it.value for it in items}
    for it in ATTRIBUTE.all_wrong(written):
        named = _named(texts.get(it.place.keys))
        yield replace(it.at(written.node), remedy=it.remedy if named is None else _write(named))
    objects = [it for it in items if isinstance(it.value, OBJECT)]
    if isinstance(written.value, list):
        yield from chain.from_iterable(map(_identity, objects))
    yield from _twice(objects)


def declaration(convention: type[ConventionHandler]) -> str:
    """Return how a convention is declared."""
    if convention.uuid is None:
        return f'{{"name": "{convention.name}"}}'
    return f'{{"uuid": "{convention.uuid}", "name": "{convention.name}"}}'


def _write(convention: type[ConventionHandler]) -> str:
    return f"write {declaration(convention)}"


def _spelling_of_key(subject: Subject) -> Iterator[Finding]:
    keys = [key for key in subject.attributes if "convention" in key.lower()]
    for key in misspelt(keys, [ATTRIBUTE.key], NAMING):
        text = f"{key!r} means nothing: no convention is declared by it"
        remedy = f'call the attribute "{ATTRIBUTE.key}"'
        yield report(KEY, subject.all_attributes.place(key), text, remedy)


def _identity(item: Fragment) -> Iterator[Finding]:
    """Yield that a declaration has no identity, or another one than it is called by."""
    meant, given = _meant(item.value), Declaration.read(item).identity
    known = {member.key for _kind, member in fields_of(Declaration).values()}
    for key in sorted(item.value.keys() - known):
        if not (key == "version" and meant is CfHandler):  # whose document has it
            text = f"{key!r} is no member of a declaration"
            yield report(TEXTS, item.place(key), text, "leave it out", severity="warning")
    is_lost = meant is not None and not matches(meant, item.value)
    if not any(map(item.get, IDENTIFIERS)):
        text = "has none of 'uuid', 'schema_url', 'spec_url': it is declared by name only"
        remedy = 'add "uuid"' if meant is None else _write(meant)
        severity: Severity = "error" if is_lost else "warning"
        yield report(IDENTIFIED, item, text, remedy, severity=severity)
    elif given is not None and meant is not None and is_lost:
        text = "{key} {value} is not that of {name!r}: this does not declare it"
        text = text.format(key=given[0], value=shown(given[1]), name=meant.name)
        yield report(KNOWN, item.place(given[0]), text, _write(meant))
    elif meant is None and not is_of_other_things(item.value):
        yield _some_other(item)


def _some_other(item: Fragment) -> Finding:
    text = "{name} is a convention that is not known here: nothing is read of it"
    remedy = "leave it, if it is meant for other readers"
    named = text.format(name=shown(self_called(item.value)))
    return report(SOME_OTHER, item, named, remedy, severity="warning")


def _named(name: object) -> type[ConventionHandler] | None:
    """Return the convention that is called so, or nearly so."""
    if not isinstance(name, str):
        return None
    known = {it.name.lower(): it for it in _conventions()}
    word = name.strip().rstrip(":").lower()
    close = get_close_matches(word, known, 1, 0.75) if len(word) > 2 else []
    return known.get(word) or next((known[it] for it in close), None)


def _meant(item: Mapping[str, Any]) -> type[ConventionHandler] | None:
    """Return the convention that a declaration is probably meant to be of.

    That is what it is called, else what it is, else whose URL it has, or nearly whose uuid or name.
    """
    uuid, *urls = IDENTIFIERS
    alone = ({key: item[key]} for key in urls if key in item)
    for candidate in ({"name": item.get("name")}, item, *alone):
        found = next((it for it in _conventions() if matches(it, candidate)), None)
        if found is not None:
            return found
    if any(key in item for key in IDENTIFIERS):
        return _of_uuid(item.get(uuid))
    return _named(item.get("name"))


def _of_uuid(uuid: object) -> type[ConventionHandler] | None:
    """Return the convention that has a uuid, but for a slip."""
    known = {it.uuid: it for it in _conventions() if it.uuid is not None}
    close = get_close_matches(uuid, known, 1, _ALIKE) if isinstance(uuid, str) else []
    return known[close[0]] if close else None


def stands_for(item: Mapping[str, Any], convention: type[ConventionHandler]) -> bool:
    """Tell whether a declaration is, or was meant to be, of a convention."""
    meant = _meant(item)
    return meant is not None and meant.name == convention.name


def _twice(items: list[Fragment]) -> Iterator[Finding]:
    found: set[type[ConventionHandler]] = set()
    for item in items:
        for it in _conventions():
            if matches(it, item.value):
                if it in found:
                    text = f"{it.name!r} is declared a second time"
                    yield report(ONCE, item, text, "leave this item out", severity="warning")
                found.add(it)
