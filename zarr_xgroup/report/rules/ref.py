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
    value = reference.value
    for key in ("uri", "attribute"):
        if value.get(key) is not None and not isinstance(value[key], str):
            remedy = _("write a string, or leave it out")
            yield mistake(FORM, reference, got(_("a string"), value[key]), remedy, key=key)
            return
    pointer = value.get("attribute") or ""
    try:
        check_pointer(pointer)
    except XGroupError as error:
        right = re.sub("~(?![01])", "~0", pointer)
        remedy = write("attribute", right if right.startswith("/") else f"/{right}")
        yield mistake(FORM, reference, error.reason, remedy, key="attribute")
        return
    try:
        Reference.parse(reference)
    except XGroupError as error:
        node = "/".join(it for it in value["node"].split("/") if it)
        yield mistake(FORM, reference, error.reason, write("node", node or "/"), key="node")
