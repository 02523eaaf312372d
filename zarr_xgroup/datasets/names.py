"""Names in a group: those in use, and free ones for new variables and their dimensions.

`splitting` renames dimensions of the group's own arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node


class UsedNames:
    """The names in use in a group: of child groups, variables, and dimensions with their sizes."""

    def __init__(self, groups: Collection[str], arrays: Iterable[ArrayReading]) -> None:
        self._groups = groups
        self._is_scalar: dict[str, bool] = {}
        self._sizes: dict[str, int] = {}
        self._last_numbers: Counter[str] = Counter()
        #: New names of dimensions of attached variables, by the group that they come from, name and size.
        self._renamed: dict[tuple[Node, str, int], str] = {}
        for array in arrays:
            self.add(array.node.name, array.sizes)

    def add(self, name: str, sizes: Mapping[str, int]) -> None:
        """Add the name of a variable and the names of its dimensions."""
        self._is_scalar[name] = not sizes
        self._sizes.update(sizes)

    def remove(self, name: str) -> None:
        """Free the name of a variable."""
        del self._is_scalar[name]

    def is_dimension(self, name: str) -> bool:
        """Return whether a variable has a dimension of this name."""
        return name in self._sizes

    def can_be_dimension(self, name: str, size: int) -> bool:
        """Return whether a variable can have a dimension of this name and size."""
        # xarray refuses a dimension with the name of a scalar variable.
        return not self._is_scalar.get(name, False) and self._sizes.get(name, size) == size

    def is_free(self, name: str) -> bool:
        """Return whether a new dimension coordinate can have this name."""
        # A DataTree does not accept a name with a slash, or the name of a child.
        return "/" not in name and name not in self._is_scalar and name not in self._groups

    def is_free_for_others(self, name: str) -> bool:
        """Return whether a new variable that is not a dimension coordinate can have this name."""
        return self.is_free(name) and name not in self._sizes

    def new_dimension(self, wanted: str, size: int) -> str:
        """Reserve and return a free name for a dimension."""

        def can_be(name: str) -> bool:
            return self.can_be_dimension(name, size) and name not in self._is_scalar

        name = self.first_free(wanted, "", can_be)
        self._sizes[name] = size
        return name

    def new_name(
        self,
        wanted: str,
        dims: tuple[str, ...],
        sizes: Mapping[str, int],
        group: str,
        *,
        is_too_long: bool,
    ) -> tuple[str, str]:
        """Return a free name for a new variable, and why it is not the wanted one, or "".

        `group` is the path of the group that the variable comes from. A variable that is too long for an index cannot
        have the name of its dimension.
        """

        def can_be(name: str) -> bool:
            if dims == (name,):
                return self.is_free(name) and not is_too_long
            return self.is_free_for_others(name)

        name = self.first_free(wanted, group, can_be)
        if name == wanted:
            return name, ""
        message = _(
            "its coordinate {wanted!r} is named {name!r}, because the name {wanted!r} is "
            "already used or not valid in this group"
        )
        if is_too_long:
            message = _(
                "its coordinate {wanted!r} of length {length} is named {name!r} and "
                "has no index, because it is too long to be read on opening"
            )
        length = next(iter(sizes.values()), 1)
        return name, message.format(wanted=wanted, name=name, length=length)

    def new_dimensions(
        self, variable: str, sizes: Mapping[str, int], origin: Node, of_data: Collection[str]
    ) -> tuple[dict[str, str], str]:
        """Return new names for the dimensions of a new variable that cannot keep theirs, and the reason, or "".

        A dimension cannot keep its name if it has a different size in the group, or if it is a dimension `of_data`. All
        variables from the same group, the `origin`, share the new name of a dimension.
        """
        renamed, has_other_size = {}, False
        for dim, size in sizes.items():
            can_stay = self.can_be_dimension(dim, size)
            if dim in of_data or not can_stay:
                key = (origin, dim, size)
                if key not in self._renamed:
                    self._renamed[key] = self.new_dimension(f"{dim}_{variable}", size)
                renamed[dim] = self._renamed[key]
                has_other_size |= not can_stay
        if not renamed:
            return {}, ""
        message = _(
            "the dimension of its boundaries {name!r} has the name of a dimension of data; "
            "renamed {renamed}"
        )
        if has_other_size:
            message = _(
                "dimensions of its coordinate {name!r} have a different size in this group; "
                "renamed {renamed}"
            )
        return renamed, message.format(name=variable, renamed=renamings(renamed))

    def first_free(self, wanted: str, group: str, can_be: Callable[[str], bool]) -> str:
        """Return the first free name: the wanted one, with the prefix of a group's path, or also with a number.

        `group` is the path of the group that the variable comes from, or "". `can_be` returns whether a name is free.
        Numbers continue from the last one, because restarting for each of many equal names would take quadratic time.
        """
        if can_be(wanted):
            return wanted
        longer = longer_name(wanted, group)
        if group and can_be(longer):
            return longer
        number = self._last_numbers[longer] or 1
        while not can_be(f"{longer}_{number}"):
            number += 1
        self._last_numbers[longer] = number
        return f"{longer}_{number}"


def longer_name(name: str, group: str) -> str:
    """Return a name with the path of a group as its prefix, without slashes; without a prefix for the root."""
    return (f"{group}_{name}" if group else name).replace("/", "_")


def renamings(names: Mapping[str, str]) -> str:
    """Return old and new names for a message: ``'x' -> 'x_a', 'y' -> 'y_a'``."""
    return ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
