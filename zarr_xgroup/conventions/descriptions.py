"""Descriptions: the JSON of a convention, said once, as the class of the model it becomes.

A field of a model says by its annotation what kind of JSON value it is read from:

    class Time(Model):
        unit: Annotated[str, Text(), Member(example='"unit": "days"', required=True)] = ""
        calendar: Annotated[str, Text(one_of=CALENDARS)] = ""

`Model.read` walks a JSON object by its class. What is wrong with a part costs that part: the field
keeps its default, and the model carries a `Finding` with the rule, the place and what to write
instead. An open tells of what costs the reader something, `check` of all.

Models know the way to each of their parts, not the node they are written in: the same text on a
thousand arrays is one model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, Self, get_type_hints

import msgspec

from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, Place, Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Keys, Node, kind_of, pointer_to
from zarr_xgroup.metadata.references import (
    NODE,
    POINTER,
    URI,
    is_reference,
    path_of,
    pointer_of,
    unwrapped,
)
from zarr_xgroup.redaction import redact

#: How many letters of a value that is written in a store messages show.
_SHOWN = 100


def shown(value: Any) -> str:
    """Return a JSON value for messages: as it is written, cut where it is long."""
    text = redact(json.dumps(value, ensure_ascii=False, default=dict))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def got(expected: str, value: Any) -> str:
    """Return what is wrong with a value that is not what it must be."""
    written = shown(value) if value is None else f"{kind_of(value)} {shown(value)}"
    return _("must be {expected}, got {value}").format(expected=expected, value=written)


def write(key: str, value: Any) -> str:
    """Return the remedy to write a member of a JSON object."""
    text = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    return _("write {text}").format(text=text)


def such_as(example: str) -> str:
    """Return the remedy to write something like an example."""
    return _("write, for example, {example}").format(example=example)


@dataclass(frozen=True)
class Member:
    """What the member of a JSON object is, besides its kind.

    Attributes
    ----------
    key : str
        Its key, if that is not the name of the field.
    example : str
        The member as it may be written, with its key.
    called : tuple of str
        What others write as its key; what is nearly the same needs not be named.
    required : bool
        Whether an object without it is wrong.
    unless : tuple of str
        Keys of which any one makes it dispensable.
    excludes : tuple of str
        Keys beside which it says nothing.
    or_null : bool
        Whether null means something.
    rule : Rule or None
        What it breaks if it is not of its kind; None for the rule of the object.
    severity : {"error", "warning"}
        How bad that is.
    """

    key: str = ""
    example: str = ""
    called: tuple[str, ...] = ()
    required: bool = False
    unless: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    or_null: bool = False
    rule: Rule | None = None
    severity: Severity = "error"

    def is_lacking(self, fragment: Fragment) -> bool:
        """Tell whether an object that has no such member should have it."""
        return self.required and all(fragment.get(key) is None for key in self.unless)

    @property
    def remedy(self) -> str:
        """What to write where it is missing or wrong."""
        return such_as(self.example or f'"{self.key}"') if self.key else ""


class Reader:
    """Takes down what is wrong with the members of one object.

    Parameters
    ----------
    form : Rule
        What a member breaks that is not what it must be.
    spelling : Rule
        What a misspelt key breaks.
    """

    def __init__(self, form: Rule, spelling: Rule) -> None:
        self.form, self._spelling = form, spelling
        self.wrong: list[Finding] = []

    def report(
        self,
        rule: Rule | Member,
        place: Fragment,
        text: str,
        remedy: str = "",
        *,
        severity: Severity | None = None,
        value_kept: bool = False,
        related: tuple[Place, ...] = (),
    ) -> None:
        """Take down what is wrong with a value; a member says rule, remedy and severity itself."""
        if isinstance(rule, Member):
            remedy, severity = remedy or rule.remedy, severity or rule.severity
            rule = rule.rule or self.form
        topic = None if value_kept else Topic.PROBLEM
        where = Place("", place.pointer)
        found = Finding(rule, where, text, remedy, severity or "error", topic=topic)
        self.wrong.append(replace(found, related=related) if related else found)

    def null(self, place: Fragment, rule: Rule | None = None) -> None:
        """Take down that a member is null."""
        reason, remedy = _("is null, which means nothing"), _("leave it out")
        self.report(rule or self.form, place, reason, remedy, severity="warning", value_kept=True)

    def misspelt(self, place: Fragment, meant: str) -> None:
        """Take down a key that was probably meant to be another one."""
        reason = _("is not known there; was {meant!r} meant?").format(meant=meant)
        remedy = _('call it "{key}"').format(key=meant)
        related = (Place("", pointer_to((*place.keys[:-1], meant))),)
        self.report(self._spelling, place, reason, remedy, related=related)


#: Stands for a value that is not what it must be; that has been taken down.
UNUSABLE = object()


class Kind:
    """What a JSON value must be."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return what the value means, or `UNUSABLE` after taking down why."""
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Kind):
    """A string.

    Attributes
    ----------
    one_of : tuple of str
        What it may be; anything where there are none.
    any_case : bool
        Whether small and capital letters are the same.
    rule : Rule or None
        What a string breaks that is none of these. It is used all the same.
    severity : {"error", "warning"}
        How bad that is.
    for_people : bool
        Whether nothing is read of it: only a check tells that it is none.
    remedy : callable, optional
        Given a value that is no string, returns what to write instead where that is more than the example.
    """

    one_of: tuple[str, ...] = ()
    any_case: bool = False
    rule: Rule | None = None
    severity: Severity = "warning"
    for_people: bool = False
    remedy: Callable[[Fragment], str] | None = None

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the string."""
        if not isinstance(value.value, str):
            remedy = self._choice() if self.one_of else ""
            remedy = self.remedy(value) if self.remedy else remedy
            reason = got(_("a string"), value.value)
            reader.report(member, value, reason, remedy, value_kept=self.for_people)
            return UNUSABLE
        if self.one_of and self._cased(value.value) not in self._known:
            reason = got(_("one of {names}").format(names=self._names()), value.value)
            remedy = self._remedy(member.key, value.value)
            severity = self.severity
            reader.report(
                self.rule or reader.form, value, reason, remedy, severity=severity, value_kept=True
            )
        return value.value

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(map(self._cased, self.one_of))

    def _cased(self, text: str) -> str:
        return text.lower() if self.any_case else text

    def _names(self) -> str:
        few = self.one_of[:_NAMED]
        return ", ".join(few) + (", ..." if len(few) < len(self.one_of) else "")

    def _remedy(self, key: str, text: str) -> str:
        names = {it.lower(): it for it in self.one_of}
        meant = alike(text.lower(), names)
        if meant is not None:
            return write(key, names[meant])
        return self._choice()

    def _choice(self) -> str:
        return _("write one of {names}").format(names=self._names())


#: How many of the values that are allowed messages name.
_NAMED = 12


@dataclass(frozen=True)
class Anything(Kind):
    """A value that only who interprets it can judge; it stays a `Part`."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the value with the way to it."""
        return value.part


@dataclass(frozen=True)
class Object(Kind):
    """An object with any members."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the members."""
        if isinstance(value.value, OBJECT):
            return value.value
        reader.report(member, value, got(_("an object"), value.value))
        return UNUSABLE


@dataclass(frozen=True)
class ReferenceTo(Kind):
    """A reference to a node, bare or in ``{"ref": ...}``; it stays a `Part`."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the reference with the way to it."""
        if is_reference(value.value):
            return value.part
        node = value.value if isinstance(value.value, str) else "time"
        reason = self.why_none(value, _("a reference to an array"))
        remedy = write(member.key, {NODE: node})
        reader.report(member, value, reason, remedy)
        return UNUSABLE

    @staticmethod
    def why_none(value: Fragment, expected: str) -> str:
        """Return why a value is no reference, which is expected."""
        written = unwrapped(value).value
        if isinstance(written, OBJECT) and NODE not in written:
            return _("is no reference: it has no 'node'")
        return got(expected, value.value)


@dataclass(frozen=True, eq=False)
class Parsed(Kind):
    """A value that a function makes something of.

    Attributes
    ----------
    parse : callable
        Given the value, returns what it means or raises XGroupError.
    remedy : callable, optional
        Given the value, returns what to write instead where that is more than the example.
    """

    parse: Callable[[Fragment], Any]
    remedy: Callable[[Fragment], str] | None = None

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return what the function makes of the value."""
        try:
            return self.parse(value)
        except XGroupError as error:
            keys = error.keys if isinstance(error, XGroupMetadataError) else value.keys
            place = Fragment(value.node, keys, None)
            remedy = "" if self.remedy is None else self.remedy(value)
            reader.report(member, place, error.reason, remedy)
            return UNUSABLE


@dataclass(frozen=True, eq=False)
class Judged(Kind):
    """A value of a kind that a function looks at further.

    Attributes
    ----------
    kind : Kind
        The kind.
    judge : callable
        Given what the value means, the value, its member and the reader, takes down what is wrong, and
        returns what it means, or `UNUSABLE`.
    """

    kind: Kind
    judge: Callable[[Any, Fragment, Member, Reader], Any]

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return what the value means."""
        found = self.kind.read(value, member, reader)
        return found if found is UNUSABLE else self.judge(found, value, member, reader)


@dataclass(frozen=True)
class Nested(Kind):
    """An object that is read as a model.

    Attributes
    ----------
    model : type of Model
        The model.
    or_reference : bool
        Whether a reference may stand in its place, which stays a `Part`.
    example : str
        What may be written, "" for the example of the member that it is in.
    """

    model: type[Model]
    or_reference: bool = False
    example: str = ""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the model."""
        if self.or_reference and is_reference(value.value):
            return value.part
        if isinstance(value.value, OBJECT):
            return self.model.read(value)
        expected = _("an object or a reference") if self.or_reference else _("an object")
        # What stands for a reference is followed, and told, by who interprets it.
        is_used = self.or_reference
        remedy = self.example and _("write {example}").format(example=self.example)
        reader.report(member, value, got(expected, value.value), remedy, value_kept=is_used)
        return value.part if is_used else UNUSABLE


@dataclass(frozen=True)
class Items(Kind):
    """A list of values of one kind, read as a tuple; an item that cannot be used is left out.

    Attributes
    ----------
    kind : Kind
        What each must be.
    least : int
        How many there have to be.
    """

    kind: Kind
    least: int = 0

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the items."""
        if not isinstance(value.value, list):
            reader.report(member, value, got(_("a list"), value.value))
            return UNUSABLE
        if len(value.value) < self.least:
            reader.report(member, value, _("must not be empty"), value_kept=True)
        items = (self.kind.read(item, member, reader) for item in value.items())
        return tuple(item for item in items if item is not UNUSABLE)


@dataclass(frozen=True)
class ByName(Kind):
    """An object of values of one kind, read as pairs of name and value.

    Attributes
    ----------
    kind : Kind
        What each must be.
    or_list : bool
        Whether it may be a list of objects with a ``name`` (an older spelling).
    least : int
        How many there have to be.
    """

    kind: Kind
    or_list: bool = False
    least: int = 0

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the pairs."""
        named = self._named(value)
        if named is None:
            expected = _("an object or a list") if self.or_list else _("an object")
            reader.report(member, value, got(expected, value.value))
            return UNUSABLE
        if len(named) < self.least:
            reader.report(member, value, _("must not be empty"), value_kept=True)
        found = []
        for name, item in named:
            if not isinstance(name, str):
                reader.report(reader.form, item, _("must have a 'name'"), such_as('"name": "x"'))
            elif (meant := self.kind.read(item, member, reader)) is not UNUSABLE:
                found.append((name, meant))
        return tuple(found)

    def _named(self, value: Fragment) -> Sequence[tuple[Any, Fragment]] | None:
        if isinstance(value.value, OBJECT):
            return list(value.members())
        if not (self.or_list and isinstance(value.value, list)):
            return None
        names = ((item.get("name"), item) for item in value.items())
        return [(None if name is None else name.value, item) for name, item in names]


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object of a convention, as it was read.

    Attributes
    ----------
    keys : tuple of str
        The way to it.
    wrong : tuple of Finding
        What is wrong with its members; what is wrong within nested models is with these.
    """

    keys: Keys
    wrong: tuple[Finding, ...] = ()

    #: What an object breaks that has a member of another kind, lacks one, or has one misspelt; the first
    #: where no other rule is named.
    form: ClassVar[Rule]
    required: ClassVar[Rule | None] = None
    spelling: ClassVar[Rule | None] = None
    #: Whether members that are misspelt are looked for.
    is_spelt: ClassVar[bool] = True
    #: Keys that may stand there besides and say nothing about coordinates.
    others: ClassVar[frozenset[str]] = frozenset()
    #: Keys that real stores write elsewhere, too: `member` finds them.
    elsewhere: ClassVar[tuple[str, ...]] = ()
    #: Fields of which exactly one has to be there, and what may be written.
    exactly_one: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""

    @classmethod
    def member(cls, fragment: Fragment, key: str) -> Fragment | None:
        """Return a member, wherever real stores write it; None where there is none."""
        return fragment.get(key)

    @classmethod
    def read(cls, fragment: Fragment) -> Self:
        """Read an object."""
        reader = Reader(cls.form, cls.spelling or cls.form)
        found = {}
        members = fragment.as_object()
        for name, (kind, member) in fields_of(cls).items():
            if member.key in members or member.key in cls.elsewhere:
                value = cls.member(fragment, member.key)
                result = UNUSABLE if value is None else kind.read(value, member, reader)
                if result is not UNUSABLE:
                    found[name] = result
        spelt = cls._told_of_spelling(fragment, reader)
        cls._told_of_missing(fragment, reader, spelt)
        cls._told_of_excluded(fragment, reader)
        if not cls._has_exactly_one(fragment, reader, spelt):
            found = {name: value for name, value in found.items() if name not in cls.exactly_one}
        cls.look_further(fragment, found, reader)
        return cls(keys=fragment.keys, wrong=tuple(reader.wrong), **found)

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down what goes beyond single members, given what these mean; by default nothing."""

    @classmethod
    def misspelt(cls, members: Iterable[str]) -> Mapping[str, str]:
        """Return keys that mean nothing, each with the one that it was probably meant to be."""
        return misspelt(members, _keys_of(cls), cls.others, _called_of(cls))

    @classmethod
    def _told_of_spelling(cls, fragment: Fragment, reader: Reader) -> Collection[str]:
        """Take down keys that were probably meant to be others; return these."""
        if not cls.is_spelt:
            return ()
        spelt = cls.misspelt(fragment.as_object())
        for key, meant in spelt.items():
            place = Fragment(fragment.node, (*fragment.keys, key), None)
            reader.misspelt(place, meant)
        return spelt.values()

    @classmethod
    def _told_of_missing(cls, fragment: Fragment, reader: Reader, spelt: Collection[str]) -> None:
        """Take down members that have to be there, and null, which reads as if there were none."""
        for _kind, member in fields_of(cls).values():
            is_null = member.key in fragment.value and fragment.value[member.key] is None
            if not (is_null or member.required) or cls.member(fragment, member.key):
                continue
            place = Fragment(fragment.node, (*fragment.keys, member.key), None)
            if member.is_lacking(fragment):
                if member.key not in spelt:
                    rule = cls.required or cls.form
                    reader.report(
                        rule, place, _("is missing"), member.remedy, severity=member.severity
                    )
            elif is_null and not member.or_null:
                reader.null(place, member.rule)

    @classmethod
    def _told_of_excluded(cls, fragment: Fragment, reader: Reader) -> None:
        """Take down members that say nothing beside others."""
        for _kind, member in fields_of(cls).values():
            value = fragment.get(member.key) if member.excludes else None
            others = [key for key in member.excludes if fragment.get(key) is not None]
            if value is not None and others:
                reason = _("says nothing beside {key!r}").format(key=others[0])
                remedy = _("leave one of {keys} out").format(keys=f"{member.key}, {others[0]}")
                reader.report(
                    reader.form, value, reason, remedy, severity="warning", value_kept=True
                )

    @classmethod
    def _has_exactly_one(cls, fragment: Fragment, reader: Reader, spelt: Collection[str]) -> bool:
        """Tell whether an object has one of the members that exclude each other; else take it down."""
        given = [key for key in cls.exactly_one if cls.member(fragment, key) is not None]
        is_spelt = not given and any(key in cls.exactly_one for key in spelt)
        if not cls.exactly_one or len(given) == 1 or is_spelt:
            return True
        reason = _("must have exactly one of {kinds}").format(kinds=", ".join(cls.exactly_one))
        reader.report(reader.form, fragment, reason, such_as(cls.example))
        return False

    @property
    def lost(self) -> Finding | None:
        """The first part that cannot be used."""
        return next((it for it in self.wrong if it.topic is not None), None)

    def wrong_with(self, key: str) -> Finding | None:
        """Return what is wrong with a member: that it cannot be used, is missing, or misspelt."""
        if not self.wrong:
            return None
        member = Place("", pointer_to((*self.keys, key)))
        lost = (item for item in self.wrong if item.topic is not None)
        return next((it for it in lost if member.holds(it.place) or member in it.related), None)

    def place(self, node: Node, *keys: str) -> Fragment:
        """Return the place of the object, or of a part, as it is written in a node."""
        return Fragment(node, (*self.keys, *keys), None)

    def all_wrong(self) -> Iterator[Finding]:
        """Yield what is wrong with it and with all models in it."""
        yield from self.wrong
        for name in fields_of(type(self)):
            for nested in _models_in(getattr(self, name)):
                yield from nested.all_wrong()


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of arrays or groups that a convention reads.

    Attributes
    ----------
    key : str
        Its name.
    kind : Kind
        What JSON value it is.
    form : Rule
        What it breaks if it is none such.
    example : str
        The attribute as it may be written, with its name.
    severity : {"error", "warning"}
        How bad it is if it is none such.
    on : {"array", "group"} or None
        Of which nodes it is an attribute, None for both.
    misplaced : Rule or None
        What it breaks on others; None where that is not told.
    marks : tuple of str
        Members of which any one makes a value that nobody declares one of the convention.
    unless : tuple of str
        Attributes beside which it is that of others.
    is_needed : bool
        Whether who declares the convention needs it, or another one that is needed.
    whole : type of Model, optional
        What reads all attributes of a node, where one is judged by others beside it.
    """

    key: str
    kind: Kind
    form: Rule
    example: str
    severity: Severity = "error"
    on: Literal["array", "group"] | None = None
    misplaced: Rule | None = None
    marks: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    is_needed: bool = True
    whole: type[Model] | None = None

    @property
    def prefix(self) -> str:
        """What its name has before a colon, with that."""
        before, colon, _after = self.key.partition(":")
        return f"{before}{colon}" if colon else ""

    def is_unmistakable(self, attributes: Mapping[str, Any]) -> bool:
        """Tell whether attributes have it, and it can only be that of the convention, declared or not."""
        value = attributes.get(self.key)
        if value is None or any(key in attributes for key in self.unless):
            return False
        is_marked = isinstance(value, OBJECT) and any(mark in value for mark in self.marks)
        return bool(self.prefix) or is_marked

    def read(self, written: Fragment) -> tuple[Any, tuple[Finding, ...]]:
        """Return what an attribute means, None if it cannot be used, and what is wrong with it itself."""
        reader = Reader(self.form, self.form)
        member = Member(self.key, self.example, severity=self.severity)
        found = self.kind.read(written, member, reader)
        return (None if found is UNUSABLE else found), tuple(reader.wrong)

    def value(self, written: Fragment) -> Any:
        """Return what an attribute means, or raise XGroupMetadataError."""
        found, wrong = self.read(written)
        if found is None:
            raise wrong[0].at(written.node).as_error()
        return found

    def all_wrong(self, written: Fragment) -> Iterator[Finding]:
        """Yield what is wrong with an attribute and with all that is in it."""
        found, wrong = self.read(written)
        yield from wrong
        for model in _models_in(found):
            yield from model.all_wrong()


def misspelt_attributes(
    given: Iterable[str], described: Collection[Attribute], others: Collection[str] = ()
) -> Mapping[str, str]:
    """Return names that mean nothing, each with the attribute that was probably meant."""
    return misspelt(given, [it.key for it in described], others)


def _models_in(value: Any) -> Iterator[Model]:
    """Yield the models that the value of a field is, or that are in its tuples."""
    if isinstance(value, Model):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _models_in(item)


@cache
def fields_of(model: type[Model]) -> Mapping[str, tuple[Kind, Member]]:
    """Return the fields of a model that are read from JSON, by name."""
    found = {}
    for name, hint in get_type_hints(model, include_extras=True).items():
        said = getattr(hint, "__metadata__", ())
        member = next((it for it in said if isinstance(it, Member)), Member())
        for kind in (it for it in said if isinstance(it, Kind)):
            found[name] = kind, replace(member, key=member.key or name)
    return found


@cache
def _keys_of(model: type[Model]) -> frozenset[str]:
    return frozenset(member.key for _kind, member in fields_of(model).values())


@cache
def _called_of(model: type[Model]) -> Mapping[str, str]:
    return {word: it.key for _kind, it in fields_of(model).values() for word in it.called}


# What others hold of the convention `ref`.

_REF = "ref convention (R-CF/zarr_convention_ref)"

REFERENCE = Rule("ref/form", _REF, "node, uri, attribute")


def _right_path(node: Fragment) -> str:
    """Return the remedy to write the path that was probably meant."""
    parts = node.value.split("/") if isinstance(node.value, str) else ()
    return write(NODE, "/".join(filter(None, parts)) or "/")


def _right_pointer(pointer: Fragment) -> str:
    """Return the remedy to write the JSON pointer that was probably meant."""
    right = re.sub("~(?![01])", "~0", str(pointer.value))
    return write(POINTER, right if right.startswith("/") else f"/{right}")


class WrittenReference(Model, frozen=True, kw_only=True):
    """What refers to a node, or to a value in its document."""

    form: ClassVar[Rule] = REFERENCE

    path: Annotated[
        str,
        Parsed(path_of, _right_path),
        Member(key=NODE, required=True, example='"node": "time"'),
    ] = ""
    store: Annotated[str, Text(), Member(key=URI, example='"uri": "s3://bucket/store.zarr"')] = ""
    pointer: Annotated[
        str,
        Parsed(pointer_of, _right_pointer),
        Member(key=POINTER, example='"attribute": "/attributes/crs"'),
    ] = ""


# Keys that are misspelt: which one was probably meant.

#: How much alike a key and the one that is meant are at least.
_ALIKE = 0.75


def alike(name: str, others: Iterable[str]) -> str | None:
    """Return which of other names is nearly the same, or one short for the other, if any is."""
    return next(iter(all_alike(name, others)), None)


def all_alike(name: str, others: Iterable[str]) -> list[str]:
    """Return which of other names are nearly the same, the most alike first; then short ones."""
    others = list(others)
    return [*get_close_matches(name, others), *(it for it in others if it[:3] == name[:3])]


def misspelt(
    given: Iterable[str],
    known: Collection[str],
    others: Collection[str] = (),
    called: Mapping[str, str] = MappingProxyType({}),
) -> Mapping[str, str]:
    """Return keys that mean nothing, each with the known one that it was probably meant to be.

    Only where that one is missing, and to each known one the first key that may be it.

    Parameters
    ----------
    given : iterable of str
        The keys that are there.
    known : collection of str
        The keys that may be meant.
    others : collection of str
        Further keys that mean something or may stand there.
    called : mapping of str to str
        What others call known keys.
    """
    keys = list(given)
    unknown = [key for key in keys if key not in known and key not in others]
    if not unknown:
        return {}
    missing = {key.lower(): key for key in known if key not in keys}
    found: dict[str, str] = {}
    for key in unknown:
        word = called.get(key, key).lower()
        match = _closest(word, tuple(missing))
        if match is not None:
            found[key] = missing.pop(match)
    return found


@lru_cache
def _closest(word: str, names: tuple[str, ...]) -> str | None:
    """Return the name that a word is most like, if any; the same is asked of many arrays."""
    return next(iter(get_close_matches(word, names, 1, _ALIKE)), None)
