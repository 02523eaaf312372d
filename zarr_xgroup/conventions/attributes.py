"""The attributes of arrays and groups that conventions read, each with the description of its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zarr_xgroup.conventions.descriptions import UNUSABLE, Kind, Member, Model, Reader, models_in
from zarr_xgroup.errors import Rule, Severity
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import OBJECT, Fragment


@dataclass(frozen=True, eq=False)
class Attribute:
    """An attribute of arrays or groups that a convention reads.

    Attributes
    ----------
    key : str
        The name of the attribute.
    kind : Kind
        The kind of JSON value that it must have.
    form : Rule
        The rule that a value of another kind breaks.
    example : str
        The attribute as it may be written, with its name.
    severity : {"error", "warning"}
        Of the finding about a value of another kind.
    on : {"array", "group"} or None
        The nodes that it is an attribute of, None for both.
    misplaced : Rule or None
        The rule that the attribute breaks on other nodes; None if that is not reported.
    marks : tuple of str
        Members of its value. Any one of them shows that an object under this name is meant for the convention, even if
        no node declares the convention.
    unless : tuple of str
        Names of other attributes. Beside any of them, this one is meant for another convention.
    is_needed : bool
        Whether a node that declares the convention must have this attribute, or another one that is needed.
    whole : type of Model, optional
        The model of all attributes of a node, where this attribute is judged by others beside it.
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
        """The part of the name up to the colon, with it; "" without a colon."""
        return self.key[: self.key.find(":") + 1]

    def is_unmistakable(self, attributes: Mapping[str, Any]) -> bool:
        """Return whether attributes have this one with a prefix or mark of the convention, declared or not."""
        value = attributes.get(self.key)
        if value is None or any(key in attributes for key in self.unless):
            return False
        is_marked = isinstance(value, OBJECT) and any(mark in value for mark in self.marks)
        return bool(self.prefix) or is_marked

    def read(self, written: Fragment) -> tuple[Any, tuple[Finding, ...]]:
        """Return what an attribute means, None if it cannot be used, and the findings about it.

        Findings about members of a `Model` are in the model.
        """
        member = Member(self.key, self.example, severity=self.severity)
        reader = Reader(self.form, self.form, member)
        found = self.kind.read(written, reader)
        return (None if found is UNUSABLE else found), tuple(reader.wrong)

    def value(self, written: Fragment) -> Any:
        """Return what an attribute means, or raise XGroupMetadataError if it cannot be used."""
        found, wrong = self.read(written)
        if found is None:
            raise wrong[0].at(written.node).as_error()
        return found

    def all_wrong(self, written: Fragment) -> Iterator[Finding]:
        """Yield the findings about an attribute and all models that are read from it."""
        found, wrong = self.read(written)
        yield from wrong
        for model in models_in(found):
            yield from model.all_wrong()
