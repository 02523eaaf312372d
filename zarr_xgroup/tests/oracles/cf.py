"""What CF attributes refer to in other groups: CF 1.12, section 2.7, as section 8.4 of ours has it."""

from collections.abc import Iterator
from dataclasses import dataclass

from zarr_xgroup.tests.oracles.stores import (
    Nodes,
    attributes,
    is_array,
    joined,
    name_of,
    parent,
    sizes_of,
    upwards,
)

#: Attributes that name arrays along dimensions of the array.
ALONG = ("coordinates", "ancillary_variables", "cell_measures")


def names_in(attribute: str, text: str) -> list[str]:
    """Return what an attribute refers to; cell measures come with their kind."""
    words = text.split()
    return words[1::2] if attribute == "cell_measures" else words


@dataclass(frozen=True)
class References:
    """Resolves what the arrays of a store refer to.

    Attributes
    ----------
    nodes : mapping
        The nodes by path.
    defined : mapping, optional
        The group that defines each dimension of an array, where the store says so.
    """

    nodes: Nodes
    defined: dict[tuple[str, str], str]

    def find(self, reference: str, array: str, key: str) -> str | None:
        """Return the array that a reference means: by its path, or by proximity. What is in the group
        itself stays; of others only what lies along the array's dimensions is taken where the
        attribute is about such arrays.
        """
        if "/" in reference:
            path = joined("" if reference.startswith("/") else parent(array), reference)
            return path if path is not None and is_array(self.nodes, path) else None
        places = (f"{group}/{reference}".lstrip("/") for group in upwards(parent(array)))
        arrays = (it for it in places if is_array(self.nodes, it))
        own, free = parent(array), key not in ALONG
        return next(
            (it for it in arrays if free or parent(it) == own or self.fits(it, array)), None
        )

    def fits(self, path: str, array: str) -> bool:
        """Whether an array has all dimensions of another one."""
        return sizes_of(self.nodes, path).items() <= sizes_of(self.nodes, array).items()

    def attached(self, array: str) -> set[str]:
        """Return the arrays of other groups that belong to an array, with their boundaries."""
        found: set[str | None] = set(self.coordinate_variables(array))
        for key in (*ALONG, "grid_mapping"):
            found |= set(self.referred(array, key))
        arrays = {it for it in found if it is not None}
        bounds = {
            self.find(attributes(self.nodes, it)["bounds"], it, "bounds")
            for it in (*arrays, array)
            if "bounds" in attributes(self.nodes, it)
        }
        return {it for it in arrays | bounds if it is not None and parent(it) != parent(array)}

    def referred(self, array: str, key: str) -> list[str]:
        """Return the arrays that an attribute of an array refers to, or that stand in their place."""
        names = names_in(key, attributes(self.nodes, array).get(key, ""))
        found = (self.find(name, array, key) for name in names)
        arrays = [it for it in found if it is not None]
        return [self.standing(it, array) for it in arrays] if key == "coordinates" else arrays

    def standing(self, path: str, array: str) -> str:
        """Return the array of the group that stands in the place of a coordinate, else the coordinate.

        It is called so, and has its dimensions and sizes. Of several coordinates that are called alike the
        first one that the group's arrays refer to is meant.
        """
        own = joined(parent(array), name_of(path))
        if own is None or own == path or not self.is_alike(own, path):
            return path
        group = sorted(
            it for it in self.nodes if is_array(self.nodes, it) and parent(it) == parent(own)
        )
        words = (
            (it, name)
            for it in group
            for name in attributes(self.nodes, it).get("coordinates", "").split()
        )
        found = (self.find(name, it, "coordinates") for it, name in words)
        others = (it for it in found if it and it != own and name_of(it) == name_of(own))
        first = next(it for it in others if self.is_alike(own, it))
        return own if path == first or sizes_of(self.nodes, own).keys() == {name_of(own)} else path

    def is_alike(self, own: str, path: str) -> bool:
        return is_array(self.nodes, own) and sizes_of(self.nodes, own) == sizes_of(self.nodes, path)

    # Coordinate variables of dimensions.

    def coordinate_variables(self, array: str) -> Iterator[str]:
        for dim, size in sizes_of(self.nodes, array).items():
            if not is_array(self.nodes, f"{parent(array)}/{dim}".lstrip("/")):
                found = self.above(array, dim, size) or self.lateral(array, dim, size)
                if found is not None:
                    yield found

    def region(self, array: str, dim: str, size: int) -> list[str]:
        """Return the groups in which a dimension is that of an array, the array's own first."""
        apex = self.defined.get((array, dim))
        found = []
        for group in upwards(parent(array)):
            if any(
                sizes_of(self.nodes, it).get(dim, size) != size
                for it in self.nodes
                if is_array(self.nodes, it) and parent(it) == group
            ):
                break
            found.append(group)
            if group == apex:
                break
        return found

    def above(self, array: str, dim: str, size: int) -> str | None:
        places = (f"{it}/{dim}".lstrip("/") for it in self.region(array, dim, size)[1:])
        return next((it for it in places if self.is_coordinate(it, size)), None)

    def lateral(self, array: str, dim: str, size: int) -> str | None:
        """Return the one that is the fewest levels below: of where the dimension is defined, if
        that is said, else of the first group upwards that has one below.
        """
        groups = self.region(array, dim, size)
        if (array, dim) in self.defined:
            groups = groups[-1:]
        for group in groups:
            prefix = f"{group}/".lstrip("/")
            below = [
                it
                for it in self.nodes
                if it.startswith(prefix) and name_of(it) == dim and self.is_coordinate(it, size)
            ]
            if below:
                least = min(it.count("/") for it in below)
                nearest = [it for it in below if it.count("/") == least]
                return nearest[0] if len(nearest) == 1 else None
        return None

    def is_coordinate(self, path: str, size: int) -> bool:
        return is_array(self.nodes, path) and sizes_of(self.nodes, path) == {name_of(path): size}
