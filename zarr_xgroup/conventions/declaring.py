"""The declaration of conventions: by ``zarr_conventions`` of an array or its group, or by the root.

Source: Zarr conventions specification, "Convention registration" and "Convention identity"; NZ-1.0,
"Convention Declaration".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec

from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Items,
    Member,
    Model,
    Nested,
    Reader,
    Text,
    must_be,
)
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node

#: The attribute that lists the conventions of an array or group.
CONVENTIONS_KEY = "zarr_conventions"

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_REPOSITORY = re.compile(
    r"[a-z][a-z0-9+.-]*://[^/]+/([^/]+/[^/]+?)(?:\.git)?(?:/|$)", re.IGNORECASE
)

#: The prefix of names of repositories: ``clbarnes/zarr-convention-license``.
_PREFIX_OF_REPOSITORY = re.compile(r"^zarr[-_]conventions?[-_]")

#: The document that defines how conventions are declared.
FRAMEWORK = "Zarr conventions specification (zarr-conventions/zarr-conventions-spec)"

LIST = Rule("conventions/list-of-objects", FRAMEWORK, "Convention registration")
IDENTIFIED = Rule("conventions/identified", FRAMEWORK, "Convention identity")
TEXTS = Rule("conventions/texts", FRAMEWORK, "Convention identity")
KNOWN = Rule("conventions/counts-for-something", FRAMEWORK, "Convention identity")
SOME_OTHER = Rule("conventions/known", FRAMEWORK, "Convention identity")
ONCE = Rule("conventions/declared-once", FRAMEWORK, "Convention registration")
DECLARED = Rule("conventions/declared", FRAMEWORK, "Convention registration")
USED = Rule("conventions/used", FRAMEWORK, "Convention registration")
KEY = Rule("conventions/spelling-of-zarr_conventions", FRAMEWORK, "Convention registration")
SPELLING = Rule("conventions/spelling-of-attributes", FRAMEWORK, "Attribute names and prefixes")

RULES = rules_in(vars())

#: Published conventions that define no coordinates and need no handler: their names, with the uuid, the known first part
#: of it, or "" if it is unknown.
_WITHOUT_COORDINATES = {
    "df": "1f1b36d2-3185-6da8-91f6-9a0823af2d33",
    "enum": "c906c423-56ed-413c-9943-7b2ff52d18f2",
    "license": "b77365e5-2b0c-4141-b917-c03b7c68e935",
    "missing_value": "78691ef5-",
    "stac": "b3703368-7e7e-4e8e-9e0e-6d0f0d5e8e8e",
    "table": "d517ea5f-92bb-4df1-8bbf-db736286a307",
    "thumbnails": "49326c01-1180-4743-b15f-f7157038a6ab",
    **dict.fromkeys(("geoemb", "nz", "nz-1.0", "nzug", "statistics", "tessera"), ""),
}
_UUIDS_WITHOUT_COORDINATES = tuple(filter(None, _WITHOUT_COORDINATES.values()))
#: Those without a complete uuid. They are identified only by their names; the uuid or URL of a declaration is ignored.
_ONLY_BY_NAME = frozenset(name for name, uuid in _WITHOUT_COORDINATES.items() if len(uuid) < 36)

#: The attributes of the root group that name the conventions of a store. They are ignored unless they include NZ-1.0.
ROOT_KEYS = ("conventions", "Conventions")
_NZ = "nz-1.0"
#: CF in these attributes: its version. Groups came with CF-1.8 (`names_cf_with_groups`).
_CF = re.compile(r"cf-(\d+)\.(\d+)")
_FIRST_CF_WITH_GROUPS = (1, 8)

#: An item of ``zarr_conventions``, for remedies.
_EXAMPLE = '{"uuid": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4", "name": "cs"}'

#: The members of a declaration that identify its convention; the first one present is used.
IDENTIFIERS = ("uuid", "schema_url", "spec_url")


#: A kind of identifier ("uuid", "repository" or "name"), and its value.
Identity: TypeAlias = tuple[str, str]


class Convention:
    """The identity of a convention, by which stores declare it; the base class of `ConventionHandler`."""

    name: ClassVar[str]
    uuid: ClassVar[str | None] = None
    identifiers: ClassVar[tuple[str, ...] | None] = ()

    @classmethod
    @cache
    def names(cls) -> tuple[str, ...]:
        """Return the name of the convention, and its other names."""
        others = (it for it in cls.identifiers or () if _kind_of(it) == "name")
        return cls.name, *others

    @classmethod
    @cache
    def identities(cls) -> frozenset[Identity]:
        """Return the identities by which stores can declare the convention."""
        if cls.identifiers is None:
            return frozenset()
        known = {("name", cls.name.lower())} | {
            (_kind_of(it), it.lower()) for it in cls.identifiers
        }
        return frozenset(known if cls.uuid is None else known | {("uuid", cls.uuid.lower())})


def _kind_of(identifier: str) -> str:
    """Return the kind of an identifier by its form."""
    if "/" in identifier:
        return "repository"
    return "uuid" if _UUID.fullmatch(identifier) else "name"


class Declared(msgspec.Struct, frozen=True):
    """A set of conventions that stores declare: ``convention in declared``.

    Attributes
    ----------
    identities : frozenset of Identity
        The identities of these conventions.
    if_prefixed : frozenset of Identity
        The identities of conventions that are in the set only if they have one of the prefixes.
    prefixes : frozenset of str
        The prefixes of the node's attributes, without colons.
    """

    identities: frozenset[Identity] = frozenset()
    if_prefixed: frozenset[Identity] = frozenset()
    prefixes: frozenset[str] = frozenset()

    def __contains__(self, convention: type[Convention]) -> bool:
        """Return whether a convention is declared."""
        if not (self.identities or self.if_prefixed):
            return False
        known = convention.identities()
        if not known.isdisjoint(self.identities):
            return True
        is_prefixed = not self.prefixes.isdisjoint(convention.names())
        return is_prefixed and not known.isdisjoint(self.if_prefixed)

    def __or__(self, other: Declared) -> Declared:
        """Return the conventions of both sets."""
        if self is NOT_DECLARED or other is NOT_DECLARED:
            return other if self is NOT_DECLARED else self
        return Declared(
            self.identities | other.identities,
            self.if_prefixed | other.if_prefixed,
            self.prefixes | other.prefixes,
        )


#: The empty set.
NOT_DECLARED = Declared()


class Declaration(Model, frozen=True, kw_only=True):
    """An item of ``zarr_conventions``, which declares that an array or a group follows a convention."""

    form: ClassVar[Rule] = TEXTS
    required: ClassVar[Rule | None] = IDENTIFIED
    others: ClassVar[frozenset[str] | None] = None  # a check reports unknown members

    uuid: Annotated[str | None, Text()] = None
    schema_url: Annotated[str | None, Text()] = None
    spec_url: Annotated[str | None, Text()] = None
    name: Annotated[str, Text(), Member(severity="warning", example='"name": "cs"')] = ""
    description: Annotated[str, Text(), Member(severity="warning")] = ""

    @property
    def identity(self) -> tuple[str, str] | None:
        """Key and value of the member that identifies the convention, or None if it has no such member."""
        members = ((key, getattr(self, key)) for key in IDENTIFIERS)
        return next(((key, value) for key, value in members if value is not None), None)


class _Declarations(Items, frozen=True):
    """A list of declarations, or an object with uuids as keys, as in version 0.1.0 of the framework."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return a tuple of the declarations that can be used, and report the others."""
        items = declaration_items(value)
        if not isinstance(value.value, list) and not 0 < len(items) == len(value.value):
            reader.refuse(value, must_be(_("a list of objects"), value.value))
        parsed = (self.kind.read(item, reader) for item in items)
        return tuple(item for item in parsed if item is not UNUSABLE)


#: The attribute ``zarr_conventions`` of arrays and groups.
ATTRIBUTE = Attribute(
    CONVENTIONS_KEY,
    _Declarations(Nested(Declaration)),
    LIST,
    f'"{CONVENTIONS_KEY}": [{_EXAMPLE}]',
)


def declaration_items(written: Fragment) -> list[Fragment]:
    """Return the items of ``zarr_conventions``, including invalid ones; `[]` if it is neither a list nor an object.

    The keys of an object are uuids: each item gets its uuid as a member. Items with other keys are left out.
    """
    if isinstance(written.value, OBJECT):
        return [
            Fragment(item.node, item.keys, {**item.value, "uuid": key})
            for key, item in written.members()
            if isinstance(item.value, OBJECT) and _UUID.fullmatch(key)
        ]
    return list(written.items()) if isinstance(written.value, list) else []


def declarations(attributes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the items of ``zarr_conventions`` that are JSON objects.

    Parameters
    ----------
    attributes : mapping
        The attributes of an array or a group.
    """
    items = declaration_items(Fragment(Node(0, ""), (), attributes.get(CONVENTIONS_KEY)))
    return [item.value for item in items if isinstance(item.value, OBJECT)]


def matches(convention: type[Convention], declaration: Mapping[str, Any]) -> bool:
    """Return whether an item of ``zarr_conventions`` declares a convention.

    Only the first present member of ``uuid``, ``schema_url``, ``spec_url`` and ``name`` is used. Only the repository of
    a URL is compared, because tags and branches change.

    Parameters
    ----------
    convention : type of Convention
        The convention.
    declaration : mapping
        The item of ``zarr_conventions``.
    """
    return identity_of(declaration) in convention.identities()


def identity_of(declaration: Mapping[str, Any]) -> Identity | None:
    """Return the identity of the convention that an item of ``zarr_conventions`` declares, or None."""
    if isinstance(uuid := declaration.get("uuid"), str):
        return "uuid", uuid.lower()
    for key in IDENTIFIERS[1:]:
        if isinstance(url := declaration.get(key), str):
            return "repository", _repository(url)
    name = declaration.get("name")
    return ("name", name.strip().rstrip(":").lower()) if isinstance(name, str) else None


def _repository(url: str) -> str:
    """Return ``owner/repository`` from a URL in lower case, or "" if the URL has no such path."""
    match = _REPOSITORY.match(url)
    return "" if match is None else match[1].lower()


def lower_case_names(convention: type[Convention]) -> list[str]:
    """Return the names of a convention in lower case; declared names are compared without case."""
    return [name.lower() for name in convention.names()]


def declared_name(declaration: Mapping[str, Any]) -> str:
    """Return the name in a declaration; otherwise its first identifier, or "?"."""
    texts = (declaration.get(key) for key in ("name", *IDENTIFIERS))
    return next((text.strip().rstrip(":") for text in texts if isinstance(text, str)), "?")


def is_known_without_coordinates(declaration: Mapping[str, Any]) -> bool:
    """Return whether a declaration refers to a published convention that defines no coordinates.

    A known ``uuid`` is sufficient. An unknown uuid with the name of a convention whose uuid is known denotes a different
    convention. Otherwise, the name of the repository in a URL (of any owner) is used, or the name if there is no URL.
    """
    uuid, name = declaration.get("uuid"), declared_name(declaration).lower()
    if isinstance(uuid, str) and uuid.lower().startswith(_UUIDS_WITHOUT_COORDINATES):
        return True
    urls = [url for key in IDENTIFIERS[1:] if isinstance(url := declaration.get(key), str)]
    repositories = {_repository(url).rpartition("/")[2] for url in urls}
    by_url = {_PREFIX_OF_REPOSITORY.sub("", name).replace("-", "_") for name in repositories}
    known = _ONLY_BY_NAME if isinstance(uuid, str) else _WITHOUT_COORDINATES.keys()
    return not by_url.isdisjoint(known) or name in (_ONLY_BY_NAME if urls else known)


def declared_by(attributes: Mapping[str, Any]) -> Declared:
    """Return the conventions that ``zarr_conventions`` in the attributes of a node declares.

    Parameters
    ----------
    attributes : mapping
        The attributes of an array or a group.
    """
    if CONVENTIONS_KEY not in attributes:
        return NOT_DECLARED
    return Declared(frozenset(filter(None, map(identity_of, declarations(attributes)))))


def declared_by_root(attributes: Mapping[str, Any]) -> Declared:
    """Return the conventions that the attributes of the root group declare for the whole store.

    ``conventions`` is ignored unless it includes NZ-1.0, because most stores converted from netCDF have
    ``Conventions = "CF-..."``, whether or not their arrays follow CF.
    """
    texts = [text for key in ROOT_KEYS if isinstance(text := attributes.get(key), str)]
    names = _names_in(texts)
    if _NZ not in names:
        return NOT_DECLARED
    versions = filter(None, map(_CF.fullmatch, names))
    is_cf = any(int(version[1]) == 1 for version in versions)
    return Declared(frozenset([("name", _NZ), *([("name", "cf")] if is_cf else [])]))


def names_cf_with_groups(attributes: Mapping[str, Any]) -> bool:
    """Return whether ``Conventions`` of a group names a version of CF that has groups: CF-1.8 or later."""
    values = [attributes.get(key) for key in ROOT_KEYS]
    texts = chain.from_iterable(value if isinstance(value, list) else [value] for value in values)
    names = _names_in(text for text in texts if isinstance(text, str))
    versions = filter(None, map(_CF.fullmatch, names))
    return any((int(version[1]), int(version[2])) >= _FIRST_CF_WITH_GROUPS for version in versions)


def _names_in(texts: Iterable[str]) -> list[str]:
    """Return the names of conventions in texts, in lower case. CF allows commas between them, NZ-1.0 spaces."""
    return re.split(r"[\s,]+", " ".join(texts).lower())


def is_declared(convention: type[Convention], attributes: Mapping[str, Any]) -> bool:
    """Return whether ``zarr_conventions`` in the attributes of a node declares a convention.

    Parameters
    ----------
    convention : type of Convention
        The convention.
    attributes : mapping
        The attributes of an array or a group.
    """
    return convention in declared_by(attributes)


def prefixes_in(attributes: Iterable[str]) -> frozenset[str]:
    """Return the prefixes of attributes without colons; for example, ``cs`` for ``cs:axes``."""
    return frozenset(key.partition(":")[0] for key in attributes if ":" in key)
