"""Descriptions: each JSON object of a convention is described once, by the class that it is read into.

The annotation of a field says which kind of JSON value the field is read from:

    class Time(Model):
        unit: Annotated[str, Text(), Member(example='"unit": "days"', required=True)] = ""
        calendar: Annotated[str, Text(one_of=CALENDARS)] = ""

`Model.read` reads a JSON object by its class. A member that cannot be used is lost, and no more: the field keeps its
default, and the model carries a `Finding` with rule, place and remedy. Opening reports the findings that cost
the reader something, `check` all. Models know the JSON keys that lead to each part, but not the node: the same
JSON text on a thousand arrays is one model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, get_type_hints

import msgspec

from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, Place, Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Keys, Node, kind_of, pointer_to
from zarr_xgroup.metadata.references import NODE, is_reference, unwrapped
from zarr_xgroup.redaction import redact

#: How many characters of a store's value messages show, and how many of the allowed values: messages stay short.
_SHOWN = 100
_NAMED = 12

#: The least similarity of a misspelt key to the key that was meant, as `difflib` measures it (1 if they are equal). It
#: accepts one or two wrong letters in a word, and does not confuse different words that look similar.
_LEAST_SIMILARITY = 0.75


def shown(value: Any) -> str:
    """Return the JSON text of a value for messages: without secrets, and cut after `_SHOWN` characters."""
    text = redact(json.dumps(value, ensure_ascii=False, default=dict))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def must_be(expected: str, value: Any) -> str:
    """Return the message that a value must be something else, and what it is."""
    written = shown(value) if value is None else f"{kind_of(value)} {shown(value)}"
    return _("must be {expected}, got {value}").format(expected=expected, value=written)


def write(key: str, value: Any) -> str:
    """Return the remedy "write" with a member of a JSON object."""
    text = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    return _("write {text}").format(text=text)


def such_as(example: str) -> str:
    """Return the remedy "write, for example," with an example."""
    return _("write, for example, {example}").format(example=example)


def misspelt(
    given: Iterable[str], known: Collection[str], others: Collection[str] | None = ()
) -> Mapping[str, str]:
    """Return unknown keys of an object, each with the known key that was probably meant.

    A known key is suggested only if the object does not have it, and only for the first unknown key that is similar.
    `others` are further keys that the object may have; None if any key is allowed, so that no key is unknown.
    """
    if others is None:
        return {}
    keys, found = list(given), {}
    unknown = [key for key in keys if key not in known and key not in others]
    missing = [key for key in known if key not in keys] if unknown else []
    for key in unknown:
        if (match := _closest(key.lower(), tuple(missing))) is not None:
            missing.remove(match)
            found[key] = match
    return found


@lru_cache  # many arrays have the same keys
def _closest(word: str, names: tuple[str, ...]) -> str | None:
    """Return the name that a word is similar to or abbreviates, with or without the prefix of the name; else None."""
    forms = {
        form.lower(): name for name in names for form in (name.partition(":")[2], name) if form
    }
    similar = get_close_matches(word, forms, 1, _LEAST_SIMILARITY)
    short = word.removesuffix("s")
    long = [form for form in forms if len(short) > 3 and form.startswith(short)]
    return next((forms[form] for form in (*similar, *long)), None)


@dataclass(frozen=True)
class Member:
    """The description of a member of a JSON object, besides the kind of its value.

    Attributes
    ----------
    key : str
        The key of the member, if that is not the name of the field.
    example : str
        The member as it may be written, with its key.
    required : bool
        Whether an object without this member is wrong.
    unless : tuple of str
        Other keys of the object. If any of them is given, this member is not required.
    rule : Rule or None
        The rule that a value of another kind breaks; None for the rule `form` of the object.
    severity : {"error", "warning"}
        Of a finding about the member. A warning costs the reader nothing: an open does not report it.
    """

    key: str = ""
    example: str = ""
    required: bool = False
    unless: tuple[str, ...] = ()
    rule: Rule | None = None
    severity: Severity = "error"

    @property
    def remedy(self) -> str:
        """The remedy if the member is missing or wrong: to write the example; "" for a member without a key."""
        return such_as(self.example or f'"{self.key}": ...') if self.key else ""


@dataclass(frozen=True)
class Reader:
    """The description of the member that is being read, and the findings about its JSON object, without the node."""

    form: Rule  # a value of a different kind breaks it, unless the member has its own rule
    spelling: Rule  # a misspelt key breaks it
    member: Member = Member()
    #: Misspelt keys, each with the key that was probably meant.
    misspelt: Mapping[str, str] = field(default_factory=dict)
    wrong: list[Finding] = field(default_factory=list)

    def of(self, member: Member) -> Reader:
        """Return the reader of a different member of the same object."""
        return Reader(self.form, self.spelling, member, self.misspelt, self.wrong)

    def report(
        self,
        rule: Rule,
        place: Fragment,
        text: str,
        remedy: str = "",
        *,
        severity: Severity = "error",
        value_kept: bool = False,
    ) -> None:
        """Report a mistake in the object. If the value is still used, only a check reports the finding."""
        topic, where = None if value_kept else Topic.PROBLEM, Place("", place.pointer)
        self.wrong.append(Finding(rule, where, text, remedy, severity, topic=topic))

    def refuse(
        self,
        value: Fragment,
        text: str,
        remedy: str = "",
        *,
        severity: Severity | None = None,
        value_kept: bool = False,
    ) -> Any:
        """Report by the rule of the member that its value is wrong, and return `UNUSABLE`; see `report`."""
        rule, remedy = self.member.rule or self.form, remedy or self.member.remedy
        severity = severity or self.member.severity
        is_kept = value_kept or self.member.severity == "warning"
        self.report(rule, value, text, remedy, severity=severity, value_kept=is_kept)
        return UNUSABLE

    def report_null(self, place: Fragment) -> None:
        """Report, to a check only, that the member is null."""
        text, rule = _("is null, which means nothing"), self.member.rule or self.form
        self.report(rule, place, text, _("leave it out"), severity="warning", value_kept=True)

    def report_misspelt(self, place: Fragment, meant: str) -> None:
        """Report a key that was probably meant to be another one, whose value is missing for this reason."""
        text = _("is not known there; was {meant!r} meant?").format(meant=meant)
        self.report(self.spelling, place, text, _('call it "{key}"').format(key=meant))
        related = (Place("", pointer_to((*place.keys[:-1], meant))),)
        self.wrong[-1] = replace(self.wrong[-1], related=related)


#: Returned by `Kind.read` for a value of another kind. Not None, which a kind may mean.
UNUSABLE = object()


class Kind:
    """The kind of JSON value that a member or attribute must have."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return what the value means, or `UNUSABLE` after reporting why."""
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Kind):
    """A string.

    Attributes
    ----------
    one_of : tuple of str
        The allowed strings; any string is allowed if there are none.
    any_case : bool
        Whether strings match in upper and lower case.
    rule : Rule or None
        The rule that another string breaks, which is used all the same; None for the rule `form` of the object.
    severity : {"error", "warning"}
        Of the finding about another string.
    """

    one_of: tuple[str, ...] = ()
    any_case: bool = False
    rule: Rule | None = None
    severity: Severity = "warning"

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the string, also if it is not one of those that are allowed."""
        text = value.value
        if isinstance(text, str) and (not self.one_of or text in self.one_of):
            return text
        names = ", ".join(self.one_of[:_NAMED]) + (", ..." if len(self.one_of) > _NAMED else "")
        remedy = _("write one of {names}").format(names=names) if names else ""
        if not isinstance(text, str):
            return reader.refuse(value, must_be(_("a string"), text), remedy)
        if not (self.any_case and text.lower() in map(str.lower, self.one_of)):
            reason = must_be(_("one of {names}").format(names=names), text)
            rule = self.rule or reader.form
            reader.report(rule, value, reason, remedy, severity=self.severity, value_kept=True)
        return text


@dataclass(frozen=True)
class Object(Kind):
    """A JSON object with any members, read as a mapping."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the object."""
        if isinstance(value.value, OBJECT):
            return value.value
        return reader.refuse(value, must_be(_("an object"), value.value))


@dataclass(frozen=True)
class ReferenceTo(Kind):
    """A reference to a node, bare or in ``{"ref": ...}``, read as a `Part`. Reading does not follow it."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the value with the JSON keys that lead to it."""
        if is_reference(value.value):
            return value.part
        node = value.value if isinstance(value.value, str) else "time"
        reason = self.why_none(value, _("a reference to an array"))
        return reader.refuse(value, reason, write(reader.member.key, {NODE: node}))

    @staticmethod
    def why_none(value: Fragment, expected: str) -> str:
        """Return the message that a value is not a reference; `expected` is the expected kind of value."""
        written = unwrapped(value).value
        if isinstance(written, OBJECT) and NODE not in written:
            return _("is no reference: it has no 'node'")
        return must_be(expected, value.value)


@dataclass(frozen=True, eq=False)
class Parsed(Kind):
    """A value that a function parses.

    Attributes
    ----------
    parse : callable
        Takes the `Fragment` and returns what it means, or raises XGroupError, as `Fragment.error` makes it. The finding
        has rule, remedy and severity of the error, or those of the member if the error has no rule.
    """

    parse: Callable[[Fragment], Any]

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return what the function makes of the value."""
        try:
            return self.parse(value)
        except XGroupMetadataError as error:
            place = Fragment(value.node, error.keys, None)
            if error.rule is None:
                return reader.refuse(place, error.reason, error.remedy)
            remedy = error.remedy or reader.member.remedy
            reader.report(error.rule, place, error.reason, remedy, severity=error.severity)
            return UNUSABLE
        except XGroupError as error:
            return reader.refuse(value, error.reason)


@dataclass(frozen=True)
class Nested(Kind):
    """A JSON object that is read as a model.

    Attributes
    ----------
    model : type of Model
        The class of the model.
    or_reference : bool
        Whether a reference to such an object may stand in its place. Reading does not follow it.
    """

    model: type[Model]
    or_reference: bool = False

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the model, or the value as a `Part` if it may be a reference and is not an object."""
        if self.or_reference and is_reference(value.value):
            return value.part
        if isinstance(value.value, OBJECT):
            return self.model.read(value)
        if not self.or_reference:
            return reader.refuse(value, must_be(_("an object"), value.value))
        # The handler follows the value in the place of a reference, and reports it.
        text = must_be(_("an object or a reference"), value.value)
        reader.refuse(value, text, value_kept=True)
        return value.part


@dataclass(frozen=True)
class Items(Kind):
    """A list of values of one kind, read as a tuple without the items that cannot be used.

    Attributes
    ----------
    kind : Kind
        The kind of each item.
    least : int
        The least number of items.
    """

    kind: Kind
    least: int = 0

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return a tuple of what the items mean."""
        if not isinstance(value.value, list):
            return reader.refuse(value, must_be(_("a list"), value.value))
        if len(value.value) < self.least:
            reader.refuse(value, _("must not be empty"), value_kept=True)
        items = (self.kind.read(item, reader) for item in value.items())
        return tuple(item for item in items if item is not UNUSABLE)


@dataclass(frozen=True)
class ByName(Kind):
    """A JSON object of values of one kind, read as a tuple of pairs (name, value) without values that cannot be used.

    Attributes
    ----------
    kind : Kind
        The kind of each value.
    or_list : bool
        Whether a list of objects with a ``name`` may stand in its place, as earlier versions of conventions have it.
    least : int
        The least number of members.
    """

    kind: Kind
    or_list: bool = False
    least: int = 0

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return a tuple of pairs of a name and what its value means."""
        named: list[tuple[Any, Fragment]]
        if isinstance(value.value, OBJECT):
            named = list(value.members())
        elif self.or_list and isinstance(value.value, list):
            named = [((it.get("name") or it.place("name")).value, it) for it in value.items()]
        else:
            expected = _("an object or a list") if self.or_list else _("an object")
            return reader.refuse(value, must_be(expected, value.value))
        if len(named) < self.least:
            reader.refuse(value, _("must not be empty"), value_kept=True)
        found = []
        for name, item in named:
            if not isinstance(name, str):
                reader.report(reader.form, item, _("must have a 'name'"), such_as('"name": "x"'))
            elif (meaning := self.kind.read(item, reader)) is not UNUSABLE:
                found.append((name, meaning))
        return tuple(found)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object of a convention, as it was read.

    Attributes
    ----------
    keys : tuple of str
        The JSON keys that lead to the object in its document.
    wrong : tuple of Finding
        The findings about its members. Nested models have the findings about theirs.
    """

    keys: Keys
    wrong: tuple[Finding, ...] = ()

    #: The rules that an object breaks with a member of a different kind, without a required member, and with a misspelt key;
    #: `form` is used for the latter two if they are None.
    form: ClassVar[Rule]
    required: ClassVar[Rule | None] = None
    spelling: ClassVar[Rule | None] = None
    #: Further keys that the object may have, which no field is read from; None if it may have any.
    others: ClassVar[frozenset[str] | None] = frozenset()

    @classmethod
    def read(cls, fragment: Fragment) -> Self:
        """Read a JSON object as a model, or raise XGroupMetadataError if the value is not an object.

        Anything else that is wrong is a finding in `wrong`.
        """
        members, fields = fragment.as_object(), fields_of(cls)
        keys = [member.key for _kind, member in fields.values()]
        spelt = misspelt(members, keys, cls.others)
        reader = Reader(cls.form, cls.spelling or cls.form, misspelt=spelt)
        found: dict[str, Any] = {}
        for name, (kind, member) in fields.items():
            if (value := members.get(member.key)) is not None:
                written = Fragment(fragment.node, (*fragment.keys, member.key), value)
                meaning = kind.read(written, reader.of(member))
                if meaning is not UNUSABLE:
                    found[name] = meaning
        for key, meant in reader.misspelt.items():
            reader.report_misspelt(fragment.place(key), meant)
        cls.report_further(fragment, found, reader)
        # Missing members and null, except fields that `report_further` added: written in another way, or null on purpose.
        for name, (_kind, member) in fields.items():
            if name in found or members.get(member.key) is not None:
                continue
            if not member.required or any(map(fragment.get, member.unless)):
                if member.key in members:
                    reader.of(member).report_null(fragment.place(member.key))
            elif member.key not in reader.misspelt.values():
                place, rule = fragment.place(member.key), cls.required or cls.form
                reader.report(rule, place, _("is missing"), member.remedy, severity=member.severity)
        return cls(keys=fragment.keys, wrong=tuple(reader.wrong), **found)

    @classmethod
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report mistakes that involve several members of an object, which annotations cannot express; by default none.

        `found` has the meanings of the members by field. An override may change it: a field that it adds is not
        reported as missing or null. `reader` has the findings about single members, and takes further ones.
        """

    @property
    def lost(self) -> Finding | None:
        """The first finding about a member that cannot be used, or None if all can be."""
        return next((finding for finding in self.wrong if finding.topic is not None), None)

    def wrong_with(self, key: str) -> Finding | None:
        """Return the finding that a member cannot be used, is missing, or misspelt, or None if there is none."""
        if not self.wrong:
            return None
        member = Place("", pointer_to((*self.keys, key)))
        for finding in self.wrong:
            is_about_it = member.holds(finding.place) or member in finding.related
            if finding.topic is not None and is_about_it:
                return finding
        return None

    def place(self, node: Node, *keys: str) -> Fragment:
        """Return the place of the object in a node, or of the part that further keys lead to. It has no value."""
        return Fragment(node, (*self.keys, *keys), None)

    def all_wrong(self) -> Iterator[Finding]:
        """Yield the findings about the object and all nested models."""
        yield from self.wrong
        for name in fields_of(type(self)):
            for nested in models_in(getattr(self, name)):
                yield from nested.all_wrong()


def models_in(value: Any) -> Iterator[Model]:
    """Yield the model that the value of a field is, or the models in its nested tuples; none for other values."""
    if isinstance(value, Model):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from models_in(item)


@cache
def fields_of(model: type[Model]) -> Mapping[str, tuple[Kind, Member]]:
    """Return kind and member of each field of a model that is read from JSON, by the name of the field."""
    found = {}
    for name, hint in get_type_hints(model, include_extras=True).items():
        annotations = getattr(hint, "__metadata__", ())
        members = (item for item in annotations if isinstance(item, Member))
        member = next(members, Member())
        for kind in (item for item in annotations if isinstance(item, Kind)):
            found[name] = kind, replace(member, key=member.key or name)
    return found
