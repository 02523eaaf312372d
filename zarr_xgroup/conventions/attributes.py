"""Descriptions of the attributes that conventions read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    JsonType,
    Member,
    Model,
    Reader,
    models_in,
)
from zarr_xgroup.errors import Rule, Severity
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import OBJECT, Fragment


class Attribute(msgspec.Struct, frozen=True, eq=False):
    """An attribute of arrays or groups that a convention reads.

    Attributes
    ----------
    key : str
        The name of the attribute.
    kind : JsonType
        The kind of JSON value that it must have.
    form : Rule
        The rule that a value of a different kind breaks.
    example : str
        An example of the attribute, with its name.
    severity : {"error", "warning"}
        The severity of the finding about a value of a different kind.
    on : {"array", "group"} or None
        The nodes that have the attribute; None for both.
    misplaced : Rule or None
        The rule that the attribute breaks on other nodes; None if that is not reported.
    marks : tuple of str
        Members of its value. Any of them shows that an object under this name belongs to the convention, even if the
        convention is not declared.
    unless : tuple of str
        Names of other attributes. If a node has any of them, this attribute belongs to a different convention.
    is_needed : bool
        Whether a node that declares the convention must have this or a different needed attribute.
    whole : type of Model, optional
        The model of all attributes of a node, if this attribute is checked together with others.
    """

    key: str
    kind: JsonType
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
        """The part of the name up to and including the colon; "" if it has no colon."""
        return self.key[: self.key.find(":") + 1]

    def is_unmistakable(self, attributes: Mapping[str, Any]) -> bool:
        """Return whether attributes have this one with a prefix or mark of the convention, even if it is not declared."""
        value = attributes.get(self.key)
        if value is None or any(key in attributes for key in self.unless):
            return False
        is_marked = isinstance(value, OBJECT) and any(mark in value for mark in self.marks)
        return bool(self.prefix) or is_marked

    def read(self, written: Fragment) -> tuple[Any, tuple[Finding, ...]]:
        """Return the parsed value of an attribute, None if it cannot be used, and the findings about it.

        Findings about members of a `Model` are in the model.
        """
        member = Member(self.key, self.example, severity=self.severity)
        reader = Reader(self.form, self.form, member)
        value = self.kind.read(written, reader)
        return (None if value is UNUSABLE else value), tuple(reader.wrong)

    def value(self, written: Fragment) -> Any:
        """Return the parsed value of an attribute, or raise XGroupMetadataError if it cannot be used."""
        value, findings = self.read(written)
        if value is None:
            raise findings[0].at(written.node).as_error()
        return value

    def all_wrong(self, written: Fragment) -> Iterator[Finding]:
        """Yield the findings about an attribute and all models that are read from it."""
        value, findings = self.read(written)
        yield from findings
        for model in models_in(value):
            yield from model.all_wrong()
