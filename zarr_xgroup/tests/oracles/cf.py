"""Oracle for references of CF attributes to other groups (CF 1.12, section 2.7; our specification, section 8.4)."""

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

#: Attributes that only refer to arrays along dimensions of the array.
ALONG = ("coordinates", "ancillary_variables", "cell_measures")


def names_in(attribute: str, text: str) -> list[str]:
    """Return the names in an attribute, without the kinds of cell measures."""
    words = text.split()
    return words[1::2] if attribute == "cell_measures" else words


@dataclass(frozen=True)
class References:
    """Resolves the references of the arrays of a store.

    Attributes
    ----------
    nodes : mapping
        The nodes by path.
    defined : mapping, optional
        The group that defines a dimension of an array, if the store declares it.
    """

    nodes: Nodes
    defined: dict[tuple[str, str], str]

    def find(self, reference: str, array: str, key: str) -> str | None:
        """Return the referenced array: by its path, or by proximity.

        By proximity, attributes in `ALONG` only refer to arrays of other groups that fit the array.
        """
        if "/" in reference:
            path = joined("" if reference.startswith("/") else parent(array), reference)
            return path if path is not None and is_array(self.nodes, path) else None
        paths = (f"{group}/{reference}".lstrip("/") for group in upwards(parent(array)))
        arrays = (path for path in paths if is_array(self.nodes, path))
        own_group, is_free = parent(array), key not in ALONG
        return next(
            (
                path
                for path in arrays
                if is_free or parent(path) == own_group or self.fits(path, array)
            ),
            None,
        )

    def fits(self, path: str, array: str) -> bool:
        """Return whether an array has all dimensions of the array at a path."""
        return sizes_of(self.nodes, path).items() <= sizes_of(self.nodes, array).items()

    def attached(self, array: str) -> set[str]:
        """Return the arrays of other groups that are attached to an array, with their bounds."""
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
        """Return the arrays that an attribute refers to, or the group's own arrays that replace them."""
        names = names_in(key, attributes(self.nodes, array).get(key, ""))
        found = (self.find(name, array, key) for name in names)
        arrays = [it for it in found if it is not None]
        return [self.used(path, array) for path in arrays] if key == "coordinates" else arrays

    def used(self, path: str, array: str) -> str:
        """Return the array of the group that replaces a coordinate, or the coordinate.

        It has the name, dimensions and sizes of the coordinate. Of several coordinates with the same name,
        it replaces the first one that the group's arrays refer to.
        """
        own = joined(parent(array), name_of(path))
        if own is None or own == path or not self.has_same_sizes(own, path):
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
        first = next(it for it in others if self.has_same_sizes(own, it))
        return own if path == first or sizes_of(self.nodes, own).keys() == {name_of(own)} else path

    def has_same_sizes(self, own: str, path: str) -> bool:
        return is_array(self.nodes, own) and sizes_of(self.nodes, own) == sizes_of(self.nodes, path)

    # Coordinate variables of dimensions.

    def coordinate_variables(self, array: str) -> Iterator[str]:
        for dim, size in sizes_of(self.nodes, array).items():
            if not is_array(self.nodes, f"{parent(array)}/{dim}".lstrip("/")):
                found = self.above(array, dim, size) or self.lateral(array, dim, size)
                if found is not None:
                    yield found

    def region(self, array: str, dim: str, size: int) -> list[str]:
        """Return the groups that share a dimension with an array, its own group first."""
        apex = self.defined.get((array, dim))
        groups = []
        for group in upwards(parent(array)):
            if any(
                sizes_of(self.nodes, it).get(dim, size) != size
                for it in self.nodes
                if is_array(self.nodes, it) and parent(it) == group
            ):
                break
            groups.append(group)
            if group == apex:
                break
        return groups

    def above(self, array: str, dim: str, size: int) -> str | None:
        places = (f"{it}/{dim}".lstrip("/") for it in self.region(array, dim, size)[1:])
        return next((it for it in places if self.is_coordinate(it, size)), None)

    def lateral(self, array: str, dim: str, size: int) -> str | None:
        """Return the coordinate variable at the lowest depth below the group that defines the dimension.

        If no group is declared to define it, this is the first group upwards with such a variable below.
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
