"""Descriptions: the JSON of a convention, said once, as the class of the model it becomes.

A field of a model says by its annotation what kind of JSON value it is read from:

    class Time(Model):
        unit: Annotated[str, Text(), Member(example='"unit": "days"', required=True)] = ""
        calendar: Annotated[str, Text(one_of=CALENDARS)] = ""

`Model.read` walks a JSON object by its class. What is wrong with a part costs that part: the field
keeps its default, and the model carries a `Finding` with the rule, the place and what to write
instead. An open reports what costs the reader something, `check` all.

Models know the way to each of their parts, not the node they are written in: the same text on a
thousand arrays is one model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, cached_property, lru_cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, get_type_hints

import msgspec

from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, Place, Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Keys, Node, kind_of, pointer_to
from zarr_xgroup.metadata.references import (
    NODE,
    is_reference,
    unwrapped,
)
from zarr_xgroup.redaction import redact

#: How many letters of a value that is written in a store messages show, and how many values that are allowed.
_SHOWN = 100
_NAMED = 12
#: How much alike a key and the one that is meant are at least.
_ALIKE = 0.75


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
    rule : Rule or None
        What it breaks if it is not of its kind; None for the rule of the object.
    severity : {"error", "warning"}
        How bad that is. A warning costs the reader nothing: an open does not report it.
    """

    key: str = ""
    example: str = ""
    called: tuple[str, ...] = ()
    required: bool = False
    unless: tuple[str, ...] = ()
    rule: Rule | None = None
    severity: Severity = "error"

    @property
    def remedy(self) -> str:
        """What to write where it is missing or wrong."""
        return such_as(self.example or f'"{self.key}"') if self.key else ""


class Reader:
    """Collects what is wrong with the members of one object.

    Parameters
    ----------
    form : Rule
        What a member breaks that is not what it must be.
    spelling : Rule
        What a misspelt key breaks.

    Attributes
    ----------
    wrong : list of Finding
        What was reported.
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
        """Report what is wrong with a value.

        Parameters
        ----------
        rule : Rule or Member
            What it breaks; a member says rule, remedy and severity itself, if no others are given.
        place : Fragment
            The value, or where it should be.
        text : str
            What is wrong.
        remedy : str, optional
            What to write instead.
        severity : {"error", "warning"}, optional
            How bad it is.
        value_kept : bool, optional
            Whether the value is used all the same: then only a check reports it.
        related : tuple of Place, optional
            Other places that it explains.
        """
        if isinstance(rule, Member):
            value_kept = value_kept or rule.severity == "warning"
            remedy, severity = remedy or rule.remedy, severity or rule.severity
            rule = rule.rule or self.form
        topic = None if value_kept else Topic.PROBLEM
        where = Place("", place.pointer)
        found = Finding(rule, where, text, remedy, severity or "error", topic=topic)
        self.wrong.append(replace(found, related=related) if related else found)

    def report_null(self, place: Fragment, rule: Rule | None = None) -> None:
        """Report that a member is null."""
        reason, remedy = _("is null, which means nothing"), _("leave it out")
        self.report(rule or self.form, place, reason, remedy, severity="warning", value_kept=True)

    def report_misspelt(self, place: Fragment, meant: str) -> None:
        """Report a key that was probably meant to be another one."""
        reason = _("is not known there; was {meant!r} meant?").format(meant=meant)
        remedy = _('call it "{key}"').format(key=meant)
        related = (Place("", pointer_to((*place.keys[:-1], meant))),)
        self.report(self._spelling, place, reason, remedy, related=related)


#: Stands for a value that is not what it must be; that has been reported.
UNUSABLE = object()


class Kind:
    """What a JSON value must be."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return what the value means, or `UNUSABLE` after reporting why."""
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
    """

    one_of: tuple[str, ...] = ()
    any_case: bool = False
    rule: Rule | None = None
    severity: Severity = "warning"

    @cached_property
    def _allowed(self) -> frozenset[str]:
        return frozenset(text.lower() if self.any_case else text for text in self.one_of)

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the string."""
        text = value.value
        is_text = isinstance(text, str)
        if is_text and (
            not self.one_of or (text.lower() if self.any_case else text) in self._allowed
        ):
            return text
        dots = ", ..." if len(self.one_of) > _NAMED else ""
        names = ", ".join(self.one_of[:_NAMED]) + dots
        remedy = _("write one of {names}").format(names=names) if names else ""
        if not is_text:
            reader.report(member, value, got(_("a string"), text), remedy)
            return UNUSABLE
        reason, rule = got(_("one of {names}").format(names=names), text), self.rule or reader.form
        reader.report(rule, value, reason, remedy, severity=self.severity, value_kept=True)
        return text


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
        reader.report(member, value, reason, write(member.key, {NODE: node}))
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
        Given the value, returns what it means or raises XGroupError, as `Fragment.error` makes it: with a
        rule, remedy and severity of its own, or else those of the member.
    """

    parse: Callable[[Fragment], Any]

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return what the function makes of the value."""
        try:
            return self.parse(value)
        except XGroupMetadataError as error:
            place = Fragment(value.node, error.keys, None)
            if error.rule is None:
                reader.report(member, place, error.reason, error.remedy)
            else:
                remedy, severity = error.remedy or member.remedy, error.severity
                reader.report(error.rule, place, error.reason, remedy, severity=severity)
        except XGroupError as error:
            reader.report(member, value, error.reason)
        return UNUSABLE


@dataclass(frozen=True)
class Nested(Kind):
    """An object that is read as a model.

    Attributes
    ----------
    model : type of Model
        The model.
    or_reference : bool
        Whether a reference may stand in its place, which stays a `Part`.
    """

    model: type[Model]
    or_reference: bool = False

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the model."""
        if self.or_reference and is_reference(value.value):
            return value.part
        if isinstance(value.value, OBJECT):
            return self.model.read(value)
        expected = _("an object or a reference") if self.or_reference else _("an object")
        # What stands for a reference is followed, and reported, by who interprets it.
        reader.report(member, value, got(expected, value.value), value_kept=self.or_reference)
        return value.part if self.or_reference else UNUSABLE


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
        named: list[tuple[Any, Fragment]]
        if isinstance(value.value, OBJECT):
            named = list(value.members())
        elif self.or_list and isinstance(value.value, list):
            items = [(item, item.get("name")) for item in value.items()]
            named = [(None if name is None else name.value, item) for item, name in items]
        else:
            expected = _("an object or a list") if self.or_list else _("an object")
            reader.report(member, value, got(expected, value.value))
            return UNUSABLE
        if len(named) < self.least:
            reader.report(member, value, _("must not be empty"), value_kept=True)
        found = []
        for name, item in named:
            if not isinstance(name, str):
                reader.report(reader.form, item, _("must have a 'name'"), such_as('"name": "x"'))
            elif (meaning := self.kind.read(item, member, reader)) is not UNUSABLE:
                found.append((name, meaning))
        return tuple(found)


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
    #: Keys that may stand there besides and say nothing about coordinates.
    others: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def read(cls, fragment: Fragment) -> Self:
        """Read an object.

        Parameters
        ----------
        fragment : Fragment
            The object.

        Raises
        ------
        XGroupMetadataError
            If it is no object. All else that is wrong is in `wrong`.
        """
        reader = Reader(cls.form, cls.spelling or cls.form)
        members, fields = fragment.as_object(), fields_of(cls)
        found: dict[str, Any] = {}
        absent: list[tuple[str, Member]] = []
        for name, (kind, member) in fields.items():
            value = members.get(member.key)
            if value is not None:
                written = Fragment(fragment.node, (*fragment.keys, member.key), value)
                meaning = kind.read(written, member, reader)
                if meaning is not UNUSABLE:
                    found[name] = meaning
            elif member.required or member.key in members:
                absent.append((name, member))
        spelt = cls.misspelt(members)
        for key, meant in spelt.items():
            reader.report_misspelt(fragment.place(key), meant)
        cls.report_further(fragment, found, reader)
        for name, member in absent:
            if name in found:
                continue  # written in another way, or null means something
            place = fragment.place(member.key)
            if member.required and not any(fragment.get(key) for key in member.unless):
                if member.key not in spelt.values():
                    rule, remedy = cls.required or cls.form, member.remedy
                    reader.report(rule, place, _("is missing"), remedy, severity=member.severity)
            elif member.key in members:
                reader.report_null(place, member.rule)
        return cls(keys=fragment.keys, wrong=tuple(reader.wrong), **found)

    @classmethod
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report what goes beyond single members; by default nothing.

        Parameters
        ----------
        fragment : Fragment
            The object.
        found : dict of str to object
            What its members mean, by field; may be changed. What is in it is neither missing, nor meaningless if null.
        reader : Reader
            Has what is wrong with single members, and is told all else.
        """

    @classmethod
    def misspelt(cls, members: Iterable[str]) -> Mapping[str, str]:
        """Return keys that mean nothing, each with the one that it was probably meant to be."""
        known, called = _keys_of(cls)
        return misspelt(members, known, cls.others, called)

    @property
    def lost(self) -> Finding | None:
        """The first part that cannot be used."""
        return next((finding for finding in self.wrong if finding.topic is not None), None)

    def wrong_with(self, key: str) -> Finding | None:
        """Return what is wrong with a member: that it cannot be used, is missing, or misspelt."""
        if not self.wrong:
            return None
        member = Place("", pointer_to((*self.keys, key)))
        for finding in self.wrong:
            is_about_it = member.holds(finding.place) or member in finding.related
            if finding.topic is not None and is_about_it:
                return finding
        return None

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
        What it breaks on others; None where that is not reported.
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
        annotations = getattr(hint, "__metadata__", ())
        members = (item for item in annotations if isinstance(item, Member))
        member = next(members, Member())
        for kind in (item for item in annotations if isinstance(item, Kind)):
            found[name] = kind, replace(member, key=member.key or name)
    return found


@cache
def _keys_of(model: type[Model]) -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the keys that are read, and what others call them."""
    members = [member for _kind, member in fields_of(model).values()]
    called = {word: member.key for member in members for word in member.called}
    return frozenset(member.key for member in members), called


# Keys that are misspelt: which one was probably meant.


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
