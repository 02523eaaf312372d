"""References: how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarr_xgroup.errors import Rule, XGroupError
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import Reference, check_pointer, references_in
from zarr_xgroup.report.rules.subject import Subject, got, mistake, write

DOCUMENT = "ref convention (R-CF/zarr_convention_ref)"

FORM = Rule("ref/form", DOCUMENT, "node, uri, attribute")

RULES = (FORM,)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield references of a node that cannot be any."""
    if not subject.store.declares_something:
        return
    for key in subject.attributes:
        text = subject.attributes.text(key) or b""
        if b'"node"' in text and (attribute := subject.attribute(key)) is not None:
            for reference in references_in(attribute):
                yield from _form(reference)


def _form(reference: Fragment) -> Iterator[Finding]:
    if "node" not in reference.value and isinstance(reference.value.get("ref"), OBJECT):
        reference = Fragment(reference.node, (*reference.keys, "ref"), reference.value["ref"])
    for key in ("uri", "attribute"):
        value = reference.get(key)
        if value is not None and not isinstance(value.value, str):
            remedy = _("write a string, or leave it out")
            yield mistake(FORM, value, got(_("a string"), value.value), remedy)
            return
    try:
        Reference.parse(reference)
    except XGroupError as error:
        yield _unusable(reference, error.reason)


def _unusable(reference: Fragment, reason: str) -> Finding:
    """Return what is wrong with the pointer, else with the path of a reference."""
    pointer = reference.value.get("attribute") or ""
    try:
        check_pointer(pointer)
    except XGroupError as error:
        right = re.sub("~(?![01])", "~0", pointer)
        remedy = write("attribute", right if right.startswith("/") else f"/{right}")
        return mistake(FORM, reference, error.reason, remedy, key="attribute")
    node = "/".join(it for it in reference.value["node"].split("/") if it)
    return mistake(FORM, reference, reason, write("node", node or "/"), key="node")
