"""The names that the variables and dimensions of a group have, and those that are free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping


class Taken:
    """The names that are taken in a group: of child groups, variables, dimensions with their sizes."""

    def __init__(
        self, groups: Collection[str], variables: Iterable[tuple[str, Mapping[str, int]]]
    ) -> None:
        self._groups = groups
        self._variables: dict[str, Mapping[str, int]] = {}
        self._sizes: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        for name, sizes in variables:
            self.add(name, sizes)

    def add(self, name: str, sizes: Mapping[str, int]) -> None:
        """Take a name, and those of dimensions."""
        self._variables[name] = sizes
        self._sizes.update(sizes)

    def is_dimension(self, name: str) -> bool:
        """Tell whether a variable has a dimension of a name."""
        return name in self._sizes

    def can_be_dimension(self, dim: str, size: int) -> bool:
        """Tell whether a variable can have a dimension of a name and size."""
        # xarray refuses a dimension that is called as a scalar.
        is_scalar = dim in self._variables and not self._variables[dim]
        return not is_scalar and self._sizes.get(dim, size) == size

    def is_free(self, name: str) -> bool:
        """Tell whether a variable can be called so, whatever dimensions are."""
        # xarray's trees take no name with a slash.
        return "/" not in name and name not in self._variables and name not in self._groups

    def is_free_for_others(self, name: str) -> bool:
        """Tell whether a variable can be called so that is no coordinate of a dimension."""
        return self.is_free(name) and not self.is_dimension(name)

    def take_dimension(self, wanted: str, size: int) -> str:
        """Take a free name for a dimension, and return it."""

        def can_be(name: str) -> bool:
            return self.can_be_dimension(name, size) and name not in self._variables

        name = self.first_free(wanted, "", can_be)
        self._sizes[name] = size
        return name

    def first_free(self, wanted: str, group: str, can_be: Callable[[str], bool]) -> str:
        """Return the best name that can be given.

        Numbers go on where they were: to begin anew for each of many variables of one name would
        take quadratic time.
        """
        # 1. The name that is wanted.
        if can_be(wanted):
            return wanted
        # 2. The path of the group that it comes from, then the name.
        longer = wanted.replace("/", "_")
        if group:
            longer = f"{group.replace('/', '_')}_{longer}"
            if can_be(longer):
                return longer
        # 3. That, numbered.
        number = self._numbers.get(longer, 1)
        while not can_be(f"{longer}_{number}"):
            number += 1
        self._numbers[longer] = number
        return f"{longer}_{number}"
