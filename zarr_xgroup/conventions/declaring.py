"""How a convention is declared: by ``zarr_conventions`` of an array or its group, by the root, or by the user.

Source: Zarr conventions specification, "Convention registration" and "Convention identity"; NZ-1.0,
"Convention Declaration".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView
from zarr_xgroup.conventions.asked import starting
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_REPOSITORY = re.compile(
    r"[a-z][a-z0-9+.-]*://[^/]+/([^/]+/[^/]+?)(?:\.git)?(?:/|$)", re.IGNORECASE
)

#: Attributes of the root that name the conventions of a store, and the name beside which they count.
_NAMING = ("conventions", "Conventions")
_NZ = "nz-1.0"


class Convention:
    """What a convention is known by.

    Attributes
    ----------
    name : str
        The convention's name, as arrays declare it (without a trailing colon).
    uuid : str or None
        The convention's identifier.
    repositories : tuple of str
        ``owner/repository`` of the places that its `schema_url` and `spec_url` point to.
    named_by_root : re.Pattern or None
        What it is called in ``conventions`` of a store's root (NZ-1.0), as a regular expression.
    is_declarable : bool
        Whether stores can declare it; else it is only assumed (``assume_conventions``).
    """

    name: ClassVar[str]
    uuid: ClassVar[str | None] = None
    repositories: ClassVar[tuple[str, ...]] = ()
    named_by_root: ClassVar[re.Pattern[str] | None] = None
    is_declarable: ClassVar[bool] = True


def declarations(attributes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the items of ``zarr_conventions`` that can be declarations.

    They are a list, or the members of an object by their uuid (framework 0.1.0).
    """
    items = attributes.get(CONVENTIONS_KEY)
    if isinstance(items, OBJECT):
        items = [
            {**item, "uuid": key}
            for key, item in items.items()
            if isinstance(item, OBJECT) and _UUID.fullmatch(key)
        ]
    return [item for item in items if isinstance(item, OBJECT)] if isinstance(items, list) else []


def matches(convention: type[Convention], declaration: Mapping[str, Any]) -> bool:
    """Tell whether an item of ``zarr_conventions`` is a convention.

    ``uuid`` decides alone where it is given, else ``schema_url``, else ``spec_url`` (of
    which the repository counts, since tags and branches move), else ``name``.
    """
    if not convention.is_declarable:
        return False
    if isinstance(uuid := declaration.get("uuid"), str):
        return convention.uuid is not None and uuid.lower() == convention.uuid.lower()
    for key in ("schema_url", "spec_url"):
        if isinstance(url := declaration.get(key), str):
            known = {repository.lower() for repository in convention.repositories}
            match = _REPOSITORY.match(url)
            return match is not None and match[1].lower() in known
    name = declaration.get("name")
    return isinstance(name, str) and name.strip().rstrip(":").lower() == convention.name.lower()


def is_declared(convention: type[Convention], attributes: Mapping[str, Any]) -> bool:
    """Tell whether attributes of a node declare a convention."""
    if CONVENTIONS_KEY not in attributes:
        return False
    return any(matches(convention, item) for item in declarations(attributes))


def is_declared_of_store(convention: type[Convention], attributes: Mapping[str, Any]) -> bool:
    """Tell whether attributes of the root declare a convention for the whole store.

    They do if they name it beside NZ-1.0. Without that a name declares nothing: most stores that were
    converted have one of CF.
    """
    if convention.named_by_root is None:
        return False
    texts = [text for key in _NAMING if isinstance(text := attributes.get(key), str)]
    names = re.split(r"[\s,]+", " ".join(texts).lower())  # CF allows commas, NZ-1.0 spaces
    return _NZ in names and any(map(convention.named_by_root.fullmatch, names))


def is_declared_by_array(convention: type[Convention], array: ArrayView) -> bool:
    """Tell whether an array itself declares a convention."""
    return any(matches(convention, item) for item in array.derived(_own_declarations))


def _own_declarations(array: ArrayView) -> list[Mapping[str, Any]]:
    return declarations(array.attributes)


def is_declared_by_group(convention: type[Convention], array: ArrayView) -> bool:
    """Tell whether the group of an array declares a convention, or it is assumed.

    What is assumed of all arrays of a store counts like what a group declares of its arrays.
    """
    return convention.name in array.assumed or _is_declared_in_group(convention, array)


def is_only_assumed(convention: type[Convention], array: ArrayView) -> bool:
    """Tell whether a convention is assumed of an array that does not declare it."""
    if convention.name not in array.assumed:
        return False
    return not (is_declared_by_array(convention, array) or _is_declared_in_group(convention, array))


def _is_declared_in_group(convention: type[Convention], array: ArrayView) -> bool:
    """Tell whether the group of an array declares a convention for it, or the root for the store.

    What a group further up declares holds for attributes with the prefix of the convention.
    """
    known, key = array.models.of_groups, (convention, array.asked.node.group)
    if key not in known:
        known[key] = _is_declared_by_root(convention, array) or is_declared_at(
            convention, array, array.node.group
        )
    if known[key]:
        return True
    return has_prefixed(convention, array.attributes) and _is_declared_above(
        convention, array, array.node.group
    )


def _is_declared_by_root(convention: type[Convention], array: ArrayView) -> bool:
    if convention.named_by_root is None:
        return False
    root = array.document_of(Node(array.node.store, ""))
    return root is not None and is_declared_of_store(convention, root.attributes)


def is_declared_at(convention: type[Convention], array: ArrayView, group: Node) -> bool:
    """Tell whether a group declares a convention, or has attributes of it below one that does."""
    attributes = array.attributes_of(group)
    if attributes is None:
        return False
    if is_declared(convention, attributes.value):
        return True
    is_prefixed = has_prefixed(convention, attributes.value)
    return is_prefixed and _is_declared_above(convention, array, group)


def has_prefixed(convention: type[Convention], attributes: Mapping[str, Any]) -> bool:
    """Tell whether the name of an attribute begins with that of a convention and a colon."""
    return bool(starting(attributes, f"{convention.name}:"))


def _is_declared_above(convention: type[Convention], array: ArrayView, group: Node) -> bool:
    if group == array.node.group:  # which does not declare it
        lists: Iterable[Fragment | None] = array.above(CONVENTIONS_KEY)
    else:
        lists = (array.attribute_of(node, CONVENTIONS_KEY) for node in group.ancestors())
    return any(it is not None and is_declared(convention, {it.keys[1]: it.value}) for it in lists)
