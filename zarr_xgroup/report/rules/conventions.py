"""Rules about declarations in ``zarr_conventions``, and about attributes that conventions describe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from msgspec.structs import replace

from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.declaring import (
    ATTRIBUTE,
    DECLARED,
    IDENTIFIED,
    IDENTIFIERS,
    KEY,
    KNOWN,
    ONCE,
    ROOT_KEYS,
    SOME_OTHER,
    SPELLING,
    TEXTS,
    USED,
    Declaration,
    declaration_items,
    declarations,
    declared_name,
    is_known_without_coordinates,
    matches,
)
from zarr_xgroup.conventions.descriptions import Reader, fields_of, misspelt, shown
from zarr_xgroup.conventions.multiscales import Multiscales
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.ref import WrittenReference
from zarr_xgroup.conventions.registry import (
    BUILT_IN,
    Handler,
    convention_meant_by,
    declarable,
    handlers,
)
from zarr_xgroup.conventions.spatial import SpatialHandler
from zarr_xgroup.errors import Severity
from zarr_xgroup.findings import Finding, new_finding
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node
from zarr_xgroup.metadata.references import may_refer, references_in, unwrapped
from zarr_xgroup.report.rules.checked import CheckedStore

#: Conventions whose attributes are read even if they are not declared: a missing declaration is only a warning.
_READ_WITHOUT_DECLARATION = (ProjHandler, Multiscales)

#: Attributes that may contain attributes of conventions without a prefix.
_ATTRIBUTES_THAT_HOLD_OTHERS = (
    *(attribute.key for attribute in CsHandler.described),
    Multiscales.name,
)

#: The members that a declaration may have. A declaration of CF may also have ``version``.
_MEMBERS_OF_DECLARATION = frozenset(member.key for _kind, member in fields_of(Declaration).values())


# Declarations.


def check_declarations(_checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield mistakes in the attribute ``zarr_conventions``, and attributes that are probably a misspelling of it."""
    keys = [key for key in subject.attributes if "convention" in key.lower()]
    for key in misspelt(keys, [ATTRIBUTE.key], ROOT_KEYS):
        text = f"{key!r} has no meaning: it declares no convention"
        remedy = f'rename it to "{ATTRIBUTE.key}"'
        yield new_finding(KEY, subject.all_attributes.place(key), text, remedy)
    written = subject.attribute(ATTRIBUTE.key)
    if written is None:
        yield from _null_attribute(subject, ATTRIBUTE)
        return
    items = declaration_items(written)
    values = {item.keys: item.value for item in items}
    for finding in ATTRIBUTE.all_wrong(written):
        # The item may be a bare name: "cs" instead of {"name": "cs"}.
        meant = convention_meant_by({"name": values.get(finding.place.keys)})
        remedy = finding.remedy if meant is None else f"write {_declaration_of(meant)}"
        yield replace(finding.at(written.node), remedy=remedy)
    objects = [item for item in items if isinstance(item.value, OBJECT)]
    if isinstance(written.value, list):
        for item in objects:
            yield from _mistakes_of_identity(item)
    declared = set()
    for item, convention in product(objects, declarable()):
        if matches(convention, item.value):
            if convention in declared:
                text = f"{convention.name!r} is declared twice"
                yield new_finding(ONCE, item, text, "remove this item", severity="warning")
            declared.add(convention)


def _mistakes_of_identity(item: Fragment) -> Iterator[Finding]:
    """Yield mistakes in one declaration: unknown members, no identifier, or one that does not fit its name."""
    meant, identity = convention_meant_by(item.value), Declaration.read(item).identity
    for key in sorted(item.value.keys() - _MEMBERS_OF_DECLARATION):
        if not (key == "version" and meant is CfHandler):
            text = f"{key!r} is not a member of a declaration"
            yield new_finding(TEXTS, item.place(key), text, "remove it", severity="warning")
    # The convention is known by its name, but the declaration does not identify it.
    is_lost = meant is not None and not matches(meant, item.value)
    if not any(map(item.get, IDENTIFIERS)):
        text = (
            "must have at least one of 'uuid', 'schema_url', 'spec_url': a name alone is not enough"
        )
        remedy = 'add "uuid"'
        if meant is not None and meant.uuid is not None:
            remedy = f"write {_declaration_of(meant)}"
        severity: Severity = "error" if is_lost else "warning"
        yield new_finding(IDENTIFIED, item, text, remedy, severity=severity)
    elif identity is not None and meant is not None and is_lost:
        key, value = identity
        text = (
            f"{key} {shown(value)} is not that of {meant.name!r}, so {meant.name!r} is not declared"
        )
        yield new_finding(KNOWN, item.place(key), text, f"write {_declaration_of(meant)}")
    elif meant is None and not is_known_without_coordinates(item.value):
        name = shown(declared_name(item.value))
        text = f"{name} is an unknown convention: its attributes are not read"
        remedy = "keep it if it is meant for other readers"
        yield new_finding(SOME_OTHER, item, text, remedy, severity="warning")


def _declaration_of(convention: Handler) -> str:
    """Return the JSON text that declares a convention."""
    if convention.uuid is None:
        return f'{{"name": "{convention.name}"}}'
    return f'{{"uuid": "{convention.uuid}", "name": "{convention.name}"}}'


# Attributes without a declaration, and declarations without attributes.


def _prefix_of(convention: Handler) -> str:
    """Return the prefix of all attributes of a convention (``proj:``), "" if it has no prefix."""
    return next((attribute.prefix for attribute in convention.described), "")


def check_undeclared_attributes(_checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield attributes of conventions that neither the node nor a group above it declares."""
    elsewhere = "group" if subject.is_array else "array"
    nodes = [subject] if subject.group is None else [subject, subject.group]
    for convention in declarable():
        keys = [
            attribute.key
            for attribute in convention.described
            if attribute.is_unmistakable(subject.attributes) and attribute.on != elsewhere
        ]
        # A malformed declaration of the convention is reported elsewhere.
        if not keys or convention in map(convention_meant_by, declarations(subject.attributes)):
            continue
        is_declared = any(convention in node.declared for node in nodes)
        if is_declared or (_prefix_of(convention) and convention in subject.declared_around):
            continue
        names = ", ".join(keys)
        text = f"attributes of the convention {convention.name!r}, which is not declared: {names}"
        remedy = f'add {_declaration_of(convention)} to the list "{ATTRIBUTE.key}" of the node'
        is_read = issubclass(convention, _READ_WITHOUT_DECLARATION)
        place = subject.all_attributes.place(keys[0])
        yield new_finding(DECLARED, place, text, remedy, severity="warning" if is_read else "error")


def check_unused_declarations(checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield declarations of conventions without an attribute of the convention on any node to which they apply.

    A declaration on a group applies to all groups and arrays below it. An array that declares `spatial` may have
    the attributes on a group above it.
    """
    written = subject.attribute(ATTRIBUTE.key)
    if written is None or not isinstance(written.value, list):
        return
    for item, convention in product(declaration_items(written), declarable()):
        needed = [f'"{attribute.key}"' for attribute in convention.described if attribute.is_needed]
        is_one = isinstance(item.value, OBJECT) and matches(convention, item.value)
        if not (needed and is_one and convention_meant_by(item.value) is convention):
            continue
        if subject.is_array:
            above = subject.ancestors() if convention is SpatialHandler else ()
            is_used = any(_has_attributes_of(node, convention) for node in (subject, *above))
        else:
            is_used = subject.node in checked.tree.memo(
                convention.name, _groups_that_use, checked, convention
            )
        if not is_used:
            *others, last = needed
            names = f"{', '.join(others)} or {last}" if others else last
            text = f"{convention.name!r} is declared, but the attribute {names} is missing"
            yield new_finding(USED, item, text, f"add {names}, or remove this item")


def _groups_that_use(checked: CheckedStore, convention: Handler) -> set[Node]:
    """Return the groups that have attributes of a convention, or contain a node with such attributes."""
    groups: set[Node] = set()
    for group in reversed(list(checked.tree.subtree(checked.groups[0]))):
        view = checked.node(group.path)
        nodes = () if view is None or group in groups else (view, *view.arrays)
        if group in groups or any(_has_attributes_of(node, convention) for node in nodes):
            groups.update((group, group.group))
    return groups


def _has_attributes_of(subject: NodeView, convention: Handler) -> bool:
    """Return whether a node has attributes of a convention, or attributes that contain them.

    A CRS of `cs` may contain a geolocation and units; any attribute may contain a key with a prefix.
    """
    attributes, prefix = subject.attributes, _prefix_of(convention)
    if any(attribute.key in attributes for attribute in convention.described):
        return True
    keys: Iterable[str] = _ATTRIBUTES_THAT_HOLD_OTHERS
    begins = [f'"{mark}"' for attribute in convention.described for mark in attribute.marks]
    if prefix:
        keys, begins = [key for key in attributes if key != ATTRIBUTE.key], [f'"{prefix}']
        if any(key.startswith(prefix) for key in keys):
            return True
    texts = [attributes.text(key) or b"" for key in keys]
    return any(begin.encode() in text for begin in begins for text in texts)


# Attributes that conventions describe.


def check_attributes(_checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield mistakes in the attributes of built-in conventions, and misspelt names of attributes."""
    plugins = {convention for convention in handlers() if convention not in BUILT_IN}
    for convention in declarable():
        prefix = _prefix_of(convention)
        keys = [key for key in subject.attributes if prefix and key.startswith(prefix)]
        known = [attribute.key for attribute in convention.described]
        others = {key for attribute in convention.described for key in attribute.unless}
        for key, meant in misspelt(keys, known, others).items():
            text = f"{key!r} is not an attribute of {convention.name!r}"
            place = subject.all_attributes.place(key)
            yield new_finding(SPELLING, place, text, f'rename it to "{meant}"')
        if convention not in plugins:
            yield from mistakes_of_convention(convention, subject)


def mistakes_of_convention(convention: Handler, subject: NodeView) -> Iterator[Finding]:
    """Yield mistakes in the attributes that a convention describes, if it applies to a node."""
    described = convention.described
    if not (described and _follows(subject, convention)):
        return
    for whole in dict.fromkeys(attribute.whole for attribute in described if attribute.whole):
        wrong = whole.read(subject.all_attributes).wrong
        yield from (finding.at(subject.node) for finding in wrong)
    for attribute in described:
        written = subject.attribute(attribute.key)
        if attribute.whole is not None:
            continue
        if written is None:
            yield from _null_attribute(subject, attribute)
        elif attribute.on in (None, "array" if subject.is_array else "group"):
            yield from (finding.at(subject.node) for finding in attribute.all_wrong(written))
        elif attribute.misplaced is not None:
            text = "is on a group, but the convention defines it for arrays"
            remedy = "write it on each array"
            if subject.is_array:
                text = "is on an array, but the convention defines it for groups"
                remedy = "write it on the group"
            yield new_finding(attribute.misplaced, written, text, remedy, severity="warning")


def _follows(subject: NodeView, convention: Handler) -> bool:
    """Return whether a convention is declared or assumed for a node, or an attribute can only belong to it."""
    if convention.name in subject.assumed or convention in subject.declared_around:
        return True
    return any(attribute.is_unmistakable(subject.attributes) for attribute in convention.described)


def _null_attribute(subject: NodeView, attribute: Attribute) -> Iterator[Finding]:
    """Yield a mistake if a node has an attribute whose value is null."""
    reader = Reader(attribute.form, attribute.form)
    if attribute.key in subject.attributes:
        reader.report_null(subject.all_attributes.place(attribute.key))
    return (finding.at(subject.node) for finding in reader.wrong)


def check_references(_checked: CheckedStore, subject: NodeView) -> Iterator[Finding]:
    """Yield malformed references in any attribute of a node."""
    for key in subject.attributes:
        attribute = subject.attribute(key) if may_refer(subject.attributes.text(key)) else None
        for reference in () if attribute is None else references_in(attribute):
            wrong = WrittenReference.read(unwrapped(reference)).wrong
            yield from (finding.at(subject.node) for finding in wrong)
