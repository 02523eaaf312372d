"""The `multiscales` layout: what a parent group says of the levels below it."""

from __future__ import annotations

from dataclasses import dataclass

from zarr_xgroup.conventions.base import ArrayContext
from zarr_xgroup.resolver import Fragment, Node


@dataclass(frozen=True)
class Level:
    """One item of a multiscales layout, and the group that holds the layout.

    Attributes
    ----------
    group : Node
        The group that has the attribute ``multiscales``.
    item : Fragment
        The item that is about the array in question.
    items : dict of str to Fragment
        All items by their ``asset``.
    """

    group: Node
    item: Fragment
    items: dict[str, Fragment]


def layout_of(context: ArrayContext) -> Level | None:
    """Return the level that an array is of, by the nearest ancestor whose layout has it.

    An item is about the array that its ``asset`` names, or about the direct child arrays of
    the group that it names (multiscales convention).
    """
    group = context.node.group
    while True:
        level = _level(context, group)
        if level is not None or not group.path:
            return level
        group = group.group


def _level(context: ArrayContext, group: Node) -> Level | None:
    layout = group.attribute("multiscales")
    layout = layout.get("layout") if layout is not None else None
    if layout is None:
        return None
    items = {}
    for item in context.attempt(lambda: list(layout.items())) or ():
        asset = item.get("asset")
        if asset is not None and isinstance(asset.value, str):
            items[asset.value.strip("/")] = item
    prefix = f"{group.path}/" if group.path else ""
    for node in (context.node, context.node.group):
        if node.path.startswith(prefix) and node.path[len(prefix) :] in items:
            return Level(group, items[node.path[len(prefix) :]], items)
    return None
