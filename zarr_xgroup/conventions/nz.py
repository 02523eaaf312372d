"""The structure convention NZ-1.0: what netCDF has beside arrays, in Zarr.

Source: NZ-1.0 convention (zarr-conventions/nz).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from zarr_xgroup.conventions.base import Checkable, ConventionHandler
from zarr_xgroup.conventions.declaring import NAMING, is_declared, is_declared_of_store
from zarr_xgroup.conventions.descriptions import Attribute, Parsed, got, shown, write
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.findings import Finding, mistake
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import NZ
from zarr_xgroup.metadata.nodes import Fragment, kind_of

NAMED = Rule("nz/conventions", NZ, "Convention Declaration")
VALUES = Rule("nz/attribute-values", NZ, "Attribute Value Types")
NAMES = Rule("nz/names", NZ, "Naming Rules")

RULES = rules_in(vars())

_NAME = "NZ-1.0"


def _names(written: Fragment) -> str:
    if not is_declared_of_store(Nz, {NAMING[0]: written.as_text()}):
        raise written.error(got(_("text with {name} in it").format(name=_NAME), written.value))
    return written.as_text()


def _with_name(written: Fragment) -> str:
    """Return the remedy to name it before what is named."""
    others = written.value if isinstance(written.value, str) else ""
    return write(written.keys[-1], f"{_NAME} {others}".strip())


#: The attribute of the root. In the one of netCDF the convention may be named, too.
ATTRIBUTE = Attribute(
    NAMING[0],
    Parsed(_names, {"type": "string", "pattern": "[Nn][Zz]-1[.]0"}, _with_name),
    NAMED,
    f'"{NAMING[0]}": "{_NAME}"',
    on="group",
    is_needed=False,
)


class Nz(ConventionHandler):
    """NZ-1.0, as stores declare it; it says nothing of coordinates."""

    tier = "service"
    name = _NAME
    uuid: ClassVar[str | None] = "d0a980b5-c644-4dcc-85a1-283799a58f40"
    repositories = ("zarr-conventions/nz",)
    named_by_root = re.compile(r"nz-1\.0")
    described = (ATTRIBUTE,)
    rules = RULES

    @classmethod
    def check(cls, subject: Checkable) -> Iterator[Finding]:
        """Yield that the root does not name the convention, and attributes that it does not allow."""
        if is_declared(cls, subject.attributes):
            yield from _unnamed(_root_of(subject))
        if subject.is_declared(cls):
            for key, value in subject.attributes.items():
                yield from _attribute(Fragment(subject.node, ("attributes", key), value))


def _root_of(subject: Checkable) -> Checkable:
    while subject.group is not None:
        subject = subject.group
    return subject


def _unnamed(root: Checkable) -> Iterator[Finding]:
    """Yield that the root names no conventions, or others in the attribute of netCDF."""
    if root.attribute(NAMING[0]) is None and not is_declared_of_store(Nz, root.attributes):
        text = _("does not name {name}, which is declared").format(name=_NAME)
        place = Fragment(root.node, ("attributes", NAMING[0]), root.attributes.get(NAMING[1]))
        yield mistake(NAMED, place, text, _with_name(place))


def _attribute(written: Fragment) -> Iterator[Finding]:
    """Yield what is wrong with an attribute whatever it means."""
    key, value = written.keys[-1], written.value
    if "/" in key:
        text = _("the name {name} has a slash, which separates the segments of paths")
        remedy = _('call the attribute "{key}"').format(key=key.replace("/", "_"))
        yield mistake(NAMES, written, text.format(name=shown(key)), remedy, "warning")
    if isinstance(value, list) and {"number", "string"} <= {*map(kind_of, value)}:
        text = _("has texts beside numbers: {value}").format(value=shown(value))
        remedy = _("write a list of values of one type")
        yield mistake(VALUES, written, text, remedy, "warning")
