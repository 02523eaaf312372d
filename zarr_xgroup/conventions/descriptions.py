"""Descriptions of JSON objects of conventions by classes.

The annotation of a field states the kind of JSON value that the field is read from:

    class Time(Model):
        unit: Annotated[str, Text(), Member(example='"unit": "days"', required=True)] = ""
        calendar: Annotated[str, Text(one_of=CALENDARS)] = ""

`Model.read` reads a JSON object. If a member cannot be used, its field keeps the default, and the model has a `Finding`
with rule, place and remedy. Opening reports the findings that make something missing; `check` reports all.
Models contain the JSON keys of each part, but not the node, so arrays with the same JSON text share one model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, get_type_hints

import msgspec
from msgspec.structs import replace

from zarr_xgroup.errors import Rule, Severity, XGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, Place, Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Keys, Node, kind_of, pointer_to
from zarr_xgroup.metadata.references import NODE, is_reference, unwrapped
from zarr_xgroup.redaction import redact

#: The number of characters of a value, and the number of allowed values, that messages show.
_SHOWN = 100
_NAMED = 12

#: The least similarity (`difflib`; 1 if equal) of a misspelt key to the intended key. It accepts one or two wrong letters
#: in a word, and does not confuse different words that look similar.
_LEAST_SIMILARITY = 0.75


def shown(value: Any) -> str:
    """Return the JSON text of a value for messages, without secrets and truncated to `_SHOWN` characters."""
    text = redact(json.dumps(value, ensure_ascii=False, default=dict))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def must_be(expected: str, value: Any) -> str:
    """Return the message "must be ..., got ..." for a value."""
    written = shown(value) if value is None else f"{kind_of(value)} {shown(value)}"
    return _("must be {expected}, got {value}").format(expected=expected, value=written)


def write(key: str, value: Any) -> str:
    """Return the remedy to write a member of a JSON object."""
    text = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
    return _("write {text}").format(text=text)


def such_as(example: str) -> str:
    """Return the remedy to write, for example, a text."""
    return _("write, for example, {example}").format(example=example)


def misspelt(
    given: Iterable[str], known: Collection[str], others: Collection[str] | None = ()
) -> Mapping[str, str]:
    """Return misspelt keys of an object, each with the known key that was probably intended.

    A known key is suggested only if the object does not have it, and only for the first similar unknown key.
    `others` are further allowed keys; None allows any key.
    """
    if others is None:
        return {}
    keys, intended = list(given), {}
    unknown = [key for key in keys if key not in known and key not in others]
    missing = [key for key in known if key not in keys] if unknown else []
    for key in unknown:
        if (match := _closest(key.lower(), tuple(missing))) is not None:
            missing.remove(match)
            intended[key] = match
    return intended


@lru_cache  # many arrays have the same keys
def _closest(word: str, names: tuple[str, ...]) -> str | None:
    """Return the name, with or without its prefix, that is similar to a word or abbreviated by it, or None."""
    forms = {
        form.lower(): name for name in names for form in (name.partition(":")[2], name) if form
    }
    similar = get_close_matches(word, forms, 1, _LEAST_SIMILARITY)
    short = word.removesuffix("s")
    long = [form for form in forms if len(short) > 3 and form.startswith(short)]
    return next((forms[form] for form in (*similar, *long)), None)


class Member(msgspec.Struct, frozen=True):
    """The description of a member of a JSON object, in addition to the kind of its value.

    Attributes
    ----------
    key : str
        The key of the member, if it differs from the name of the field.
    example : str
        An example of the member, with its key.
    required : bool
        Whether the object must have this member.
    unless : tuple of str
        Other keys of the object. If it has any of them, this member is not required.
    rule : Rule or None
        The rule that a value of a different kind breaks; None for the rule `form` of the object.
    severity : {"error", "warning"}
        The severity of findings about the member. Opening does not report warnings.
    """

    key: str = ""
    example: str = ""
    required: bool = False
    unless: tuple[str, ...] = ()
    rule: Rule | None = None
    severity: Severity = "error"

    @property
    def remedy(self) -> str:
        """The remedy for a missing or wrong member: to write the example; "" for a member without a key."""
        return such_as(self.example or f'"{self.key}": ...') if self.key else ""


class Reader(msgspec.Struct, frozen=True):
    """The member that is being read, and the findings about its JSON object, without the node."""

    form: Rule  # broken by a value of a different kind, unless the member has its own rule
    spelling: Rule  # broken by a misspelt key
    member: Member = Member()
    #: Misspelt keys, each with the key that was probably intended.
    misspelt: Mapping[str, str] = msgspec.field(default_factory=dict)
    wrong: list[Finding] = msgspec.field(default_factory=list)

    def of(self, member: Member) -> Reader:
        """Return the reader for a different member of the same object."""
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
        """Report a mistake in the object, only to a check if the value is still used (`value_kept`)."""
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
        """Report a wrong value with the rule of the member, and return `UNUSABLE`; see `report`."""
        rule, remedy = self.member.rule or self.form, remedy or self.member.remedy
        severity = severity or self.member.severity
        is_kept = value_kept or self.member.severity == "warning"
        self.report(rule, value, text, remedy, severity=severity, value_kept=is_kept)
        return UNUSABLE

    def report_null(self, place: Fragment) -> None:
        """Report, only to a check, that the member is null."""
        text, rule = _("is null, which is ignored"), self.member.rule or self.form
        self.report(rule, place, text, _("leave it out"), severity="warning", value_kept=True)

    def report_misspelt(self, place: Fragment, meant: str) -> None:
        """Report a misspelt key; the intended member is missing."""
        text = _("is unknown; did you mean {meant!r}?").format(meant=meant)
        self.report(self.spelling, place, text, _('rename it to "{key}"').format(key=meant))
        related = (Place("", pointer_to((*place.keys[:-1], meant))),)
        self.wrong[-1] = replace(self.wrong[-1], related=related)


#: Returned by `JsonType.read` for a value of a different kind. None may be a valid result.
UNUSABLE = object()


class JsonType(msgspec.Struct, frozen=True):
    """The kind of JSON value that a member or attribute must have."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the parsed value, or `UNUSABLE` after reporting the reason."""
        raise NotImplementedError


class Text(JsonType, frozen=True):
    """A string.

    Attributes
    ----------
    one_of : tuple of str
        The allowed strings; if empty, any string is allowed.
    any_case : bool
        Whether upper and lower case are equivalent.
    rule : Rule or None
        The rule that a different string breaks (it is used nevertheless); None for the rule `form` of the object.
    severity : {"error", "warning"}
        The severity of the finding about a different string.
    """

    one_of: tuple[str, ...] = ()
    any_case: bool = False
    rule: Rule | None = None
    severity: Severity = "warning"

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the string, even if it is not an allowed string."""
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


class Object(JsonType, frozen=True):
    """A JSON object with any members, read as a mapping."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the object."""
        if isinstance(value.value, OBJECT):
            return value.value
        return reader.refuse(value, must_be(_("an object"), value.value))


class ReferenceTo(JsonType, frozen=True):
    """A reference to a node, bare or in ``{"ref": ...}``, read as a `Part` without resolving it."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the reference with its JSON keys."""
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
            return _("is not a reference: it has no 'node'")
        return must_be(expected, value.value)


class Parsed(JsonType, frozen=True, eq=False):
    """A value that a function parses.

    Attributes
    ----------
    parse : callable
        Takes the `Fragment` and returns the parsed value, or raises an XGroupError, for example from `Fragment.error`.
        The finding has the rule, remedy and severity of the error, or those of the member if the error has no rule.
    """

    parse: Callable[[Fragment], Any]

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the result of the function."""
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


class Nested(JsonType, frozen=True):
    """A JSON object that is read as a model.

    Attributes
    ----------
    model : type of Model
        The class of the model.
    or_reference : bool
        Whether a reference to such an object is also allowed. Reading does not resolve it.
    """

    model: type[Model]
    or_reference: bool = False

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the model, or the value as a `Part` if references are allowed and it is not an object."""
        if self.or_reference and is_reference(value.value):
            return value.part
        if isinstance(value.value, OBJECT):
            return self.model.read(value)
        if not self.or_reference:
            return reader.refuse(value, must_be(_("an object"), value.value))
        # The handler tries to resolve the value as a reference, and reports it.
        text = must_be(_("an object or a reference"), value.value)
        reader.refuse(value, text, value_kept=True)
        return value.part


class Items(JsonType, frozen=True):
    """A list of values of one kind, read as a tuple without unusable items.

    Attributes
    ----------
    kind : JsonType
        The kind of each item.
    least : int
        The minimum number of items.
    """

    kind: JsonType
    least: int = 0

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return a tuple of the parsed items."""
        if not isinstance(value.value, list):
            return reader.refuse(value, must_be(_("a list"), value.value))
        if len(value.value) < self.least:
            reader.refuse(value, _("must not be empty"), value_kept=True)
        items = (self.kind.read(item, reader) for item in value.items())
        return tuple(item for item in items if item is not UNUSABLE)


class ByName(JsonType, frozen=True):
    """A JSON object of values of one kind, read as a tuple of pairs (name, value) without unusable values.

    Attributes
    ----------
    kind : JsonType
        The kind of each value.
    or_list : bool
        Whether a list of objects with a ``name`` is also allowed, as in earlier versions of conventions.
    least : int
        The minimum number of members.
    """

    kind: JsonType
    or_list: bool = False
    least: int = 0

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return a tuple of pairs of a name and its parsed value."""
        named: list[tuple[Any, Fragment]]
        if isinstance(value.value, OBJECT):
            named = list(value.members())
        elif self.or_list and isinstance(value.value, list):
            named = [
                ((item.get("name") or item.place("name")).value, item) for item in value.items()
            ]
        else:
            expected = _("an object or a list") if self.or_list else _("an object")
            return reader.refuse(value, must_be(expected, value.value))
        if len(named) < self.least:
            reader.refuse(value, _("must not be empty"), value_kept=True)
        pairs = []
        for name, item in named:
            if not isinstance(name, str):
                reader.report(reader.form, item, _("must have a 'name'"), such_as('"name": "x"'))
            elif (parsed := self.kind.read(item, reader)) is not UNUSABLE:
                pairs.append((name, parsed))
        return tuple(pairs)


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object of a convention, read by the annotations of its class.

    Attributes
    ----------
    keys : tuple of str
        The JSON keys of the object in its document.
    wrong : tuple of Finding
        The findings about its members. Nested models have their own findings.
    """

    keys: Keys
    wrong: tuple[Finding, ...] = ()

    #: The rules that are broken by a member of a different kind (`form`), a missing member (`required`, by default `form`)
    #: and a misspelt key (`spelling`, by default `form`).
    form: ClassVar[Rule]
    required: ClassVar[Rule | None] = None
    spelling: ClassVar[Rule | None] = None
    #: Further allowed keys, which no field is read from; None allows any key.
    others: ClassVar[frozenset[str] | None] = frozenset()

    @classmethod
    def read(cls, fragment: Fragment) -> Self:
        """Read a JSON object as a model, or raise XGroupMetadataError if the value is not an object.

        Other mistakes are findings in `wrong`.
        """
        members, fields = fragment.as_object(), fields_of(cls)
        keys = [member.key for _kind, member in fields.values()]
        spelt = misspelt(members, keys, cls.others)
        reader = Reader(cls.form, cls.spelling or cls.form, misspelt=spelt)
        values: dict[str, Any] = {}
        for name, (kind, member) in fields.items():
            if (value := members.get(member.key)) is not None:
                written = Fragment(fragment.node, (*fragment.keys, member.key), value)
                parsed = kind.read(written, reader.of(member))
                if parsed is not UNUSABLE:
                    values[name] = parsed
        for key, meant in reader.misspelt.items():
            reader.report_misspelt(fragment.place(key), meant)
        cls.finish_fields(fragment, values, reader)
        # Missing members and null, except fields that `finish_fields` added: they have another form, or are null on purpose.
        for name, (_kind, member) in fields.items():
            if name in values or members.get(member.key) is not None:
                continue
            if not member.required or any(map(fragment.get, member.unless)):
                if member.key in members:
                    reader.of(member).report_null(fragment.place(member.key))
            elif member.key not in reader.misspelt.values():
                place, rule = fragment.place(member.key), cls.required or cls.form
                reader.report(rule, place, _("is missing"), member.remedy, severity=member.severity)
        return cls(keys=fragment.keys, wrong=tuple(reader.wrong), **values)

    @classmethod
    def finish_fields(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report mistakes that annotations cannot express, for example about several members; by default none.

        `found` has the parsed members by field. An override may modify it: a field that it adds is not reported as
        missing or null. `reader` has the findings about single members. Report further findings with it.
        """

    @property
    def lost(self) -> Finding | None:
        """The first finding about an unusable member, or None if all members are usable."""
        return next((finding for finding in self.wrong if finding.topic is not None), None)

    def wrong_with(self, key: str) -> Finding | None:
        """Return the finding that a member is unusable, missing or misspelt, or None if it is usable."""
        if not self.wrong:
            return None
        member = Place("", pointer_to((*self.keys, key)))
        for finding in self.wrong:
            is_about_member = member.holds(finding.place) or member in finding.related
            if finding.topic is not None and is_about_member:
                return finding
        return None

    def place(self, node: Node, *keys: str) -> Fragment:
        """Return the place, without a value, of the object in a node, or of its part at further keys."""
        return Fragment(node, (*self.keys, *keys), None)

    def all_wrong(self) -> Iterator[Finding]:
        """Yield the findings about the object and all nested models."""
        yield from self.wrong
        for name in fields_of(type(self)):
            for nested in models_in(getattr(self, name)):
                yield from nested.all_wrong()


def models_in(value: Any) -> Iterator[Model]:
    """Yield the models in the value of a field: the value itself, or items of (nested) tuples."""
    if isinstance(value, Model):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from models_in(item)


@cache
def fields_of(model: type[Model]) -> Mapping[str, tuple[JsonType, Member]]:
    """Return kind and member of each field that is read from JSON, by the name of the field."""
    fields = {}
    for name, hint in get_type_hints(model, include_extras=True).items():
        annotations = getattr(hint, "__metadata__", ())
        members = (item for item in annotations if isinstance(item, Member))
        member = next(members, Member())
        for kind in (item for item in annotations if isinstance(item, JsonType)):
            fields[name] = kind, replace(member, key=member.key or name)
    return fields
