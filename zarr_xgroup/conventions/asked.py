"""What conventions ask about an array, taken down: for which other arrays their answers hold.

A convention asks an array as it likes. Whatever it is given takes down by itself what is looked at,
so that nothing needs to be said of it:

1. Attributes (`AskedAttributes`) take down their names. Names are the same for a whole open: an
   answer holds for an array that has the same under all names that were asked for so far.
2. A place (`AskedNode`: the array, and its group) takes down that its path is looked at, which is
   another one for other arrays, and what it is compared with.
3. The array (`ArrayView`) takes down that it is asked for others of its group, and by which names
   it was asked for such as are not there.

What follows from a path that the metadata give from the root is the same for all arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, TypeAlias

import msgspec

from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Node, plain
from zarr_xgroup.metadata.references import NODE

#: Attributes as written: name and JSON text.
Texts: TypeAlias = tuple[tuple[str, bytes | None], ...]

#: What the JSON text of a reference has.
_QUOTED = f'"{NODE}"'.encode()


class Reach(IntEnum):
    """Which arrays that say the same an answer may hold for."""

    ANYWHERE = 0
    SAME_GROUP = 1
    ITSELF = 2


class Names:
    """The attributes that conventions asked for in an open; there are never fewer than before.

    Attributes
    ----------
    add : callable
        Takes down the name of an attribute that was asked for.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self.add = self._names.add
        self._prefixes: tuple[str, ...] = ()
        self._with_references = False

    def __len__(self) -> int:
        """Return how much was asked for: another number if it is more than before."""
        return len(self._names) + len(self._prefixes) + self._with_references

    def add_prefix(self, prefix: str) -> None:
        """Take down that all attributes whose names begin so were asked for: with "", all."""
        if prefix not in self._prefixes:
            self._prefixes += (prefix,)

    def add_references(self) -> None:
        """Take down that all attributes that hold references were asked for."""
        self._with_references = True

    def texts_of(self, attributes: JsonObject) -> Texts:
        """Return of a node's attributes those that were asked for, as text."""
        return tuple(
            (key, text) for key in attributes if self._has(key, text := attributes.text(key))
        )

    def _has(self, key: str, text: bytes | None) -> bool:
        if key in self._names or key.startswith(self._prefixes):
            return True
        return self._with_references and may_refer(text)


def may_refer(text: bytes | None) -> bool:
    """Tell whether the JSON text of an attribute may hold references; an escaped letter may hide one."""
    return text is not None and (_QUOTED in text or b"\\u" in text)


class AskedAttributes(Mapping[str, Any]):
    """The attributes of a node, which take down what is asked for.

    To iterate over them asks for all: arrays that differ in any are then asked about one by one.
    """

    __slots__ = ("_asked", "_attributes")

    def __init__(self, attributes: JsonObject, asked: Names) -> None:
        self._attributes = attributes
        self._asked = asked

    def __getitem__(self, key: str) -> Any:
        """Return an attribute, not to be changed."""
        self._asked.add(key)
        return self._attributes[key]

    def __contains__(self, key: object) -> bool:
        """Tell whether there is an attribute."""
        self._asked.add(str(key))
        return key in self._attributes

    def get(self, key: str, default: Any = None) -> Any:
        """Return an attribute, or a default where there is none."""
        self._asked.add(key)
        return self._attributes.get(key, default)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        self._asked.add_prefix("")
        return iter(self._attributes)

    def __len__(self) -> int:
        """Return the number of attributes."""
        self._asked.add_prefix("")
        return len(self._attributes)

    def starting(self, prefix: str) -> list[str]:
        """Return the names that begin with a prefix."""
        self._asked.add_prefix(prefix)
        return [key for key in self._attributes if key.startswith(prefix)]

    def referring(self) -> list[str]:
        """Return the names of the attributes that may hold references."""
        self._asked.add_references()
        return [key for key in self._attributes if may_refer(self._attributes.text(key))]


def starting(attributes: Mapping[str, Any], prefix: str) -> list[str]:
    """Return the names of attributes that begin with a prefix."""
    if isinstance(attributes, AskedAttributes):
        return attributes.starting(prefix)
    return [key for key in attributes if key.startswith(prefix)]


class Asked(msgspec.Struct, eq=False):
    """What was asked about one array.

    Attributes
    ----------
    node, document
        The array.
    siblings : mapping
        The sizes of the dimensions of all arrays of its group, by name.
    own, around : Names
        The attributes of arrays, and those of the groups that they are in, asked for in the open.
    reach : Reach
        For which arrays the answer may hold.
    compared : set of Node
        Nodes that it was found not to be, and groups that it was found not to be in.
    missed : set of str
        Names of arrays that its group was found not to have.
    """

    node: Node
    document: Document
    siblings: Mapping[str, Mapping[str, int]]
    own: Names
    around: Names
    reach: Reach = Reach.ANYWHERE
    compared: set[Node] = msgspec.field(default_factory=set)
    missed: set[str] = msgspec.field(default_factory=set)

    def limit(self, reach: Reach) -> None:
        """Take down that the answer holds for no more arrays than these."""
        self.reach = max(self.reach, reach)


class AskedNode(Node, frozen=True, gc=False):
    """An array that is asked about, or a group that it is in: takes down what is looked at of it.

    Attributes
    ----------
    asked : Asked
        Where that is taken down.
    is_array : bool
        Whether it is the array.
    """

    asked: Asked
    is_array: bool

    @classmethod
    def of(cls, node: Node, asked: Asked, *, is_array: bool = False) -> AskedNode:
        """Return a node as one that takes down what is looked at."""
        return cls(node.store, node.path, asked, is_array)

    def _tell(self) -> None:
        self.asked.limit(Reach.ITSELF if self.is_array else Reach.SAME_GROUP)

    @property  # type: ignore[misc]
    def path(self) -> str:
        """Without slashes at the ends."""
        self._tell()
        return plain(self).path

    @property
    def group(self) -> Node:
        """The group that contains the node; the root is in itself."""
        group = plain(self).group
        if self.is_array:
            return AskedNode.of(group, self.asked)
        self._tell()
        return group

    def child(self, name: str) -> Node:
        """Return the place of what is called so directly below."""
        self._tell()
        return plain(self).child(name)

    def ancestors(self) -> Iterator[Node]:
        """Yield the groups that contain the node, the nearest first, the root last."""
        self.asked.limit(Reach.SAME_GROUP)
        return plain(self).ancestors()

    def __eq__(self, other: object) -> bool:
        """Tell whether it is another node."""
        if not isinstance(other, Node):
            return NotImplemented
        is_same = plain(self) == plain(other)
        if isinstance(other, AskedNode):
            if other.asked is self.asked:
                return is_same
            other._compared_with(self, is_same=is_same)
        self._compared_with(other, is_same=is_same)
        return is_same

    def _compared_with(self, other: Node, *, is_same: bool) -> None:
        if is_same:
            self._tell()
        else:
            self.asked.compared.add(plain(other))

    def __ne__(self, other: object) -> bool:
        """Tell whether it is not another node."""
        return not self == other

    def __hash__(self) -> int:
        """Return the same as for the node itself: whoever asks compares it with more than can be seen."""
        self._tell()
        return hash(plain(self))

    def __repr__(self) -> str:
        """Return the node itself as text."""
        self._tell()
        return repr(plain(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Become the node itself in other processes."""
        self._tell()
        return Node, (self.store, self.path)
