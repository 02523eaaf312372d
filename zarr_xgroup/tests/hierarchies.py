"""Random hierarchies of equal groups, whose metadata name some of the groups and arrays.

Answers about equal arrays and groups differ only because of where these are: a layout, a catalogue, a geolocation or a
path names one of them, or a relative reference leads to a different node.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import Array, Group, Nodes, declaring
from zarr_xgroup.tests.strategies import Drawing

Json: TypeAlias = Any

#: The paths of the groups of a hierarchy that have equal arrays.
_LEAVES = (("a", "b"), ("b", "a", "c"), ("p/a", "p/b", "q/a", "q/b"), ("p/a", "q/a"))
_SIZES = {"y": 4, "x": 6, "cells": 12}
_NAMES = ("cell_ids", "crs", "lat", "lon", "spatial_ref", "u", "v", "w", "x", "y")
_GRID = ("y", "x")


def _all_of(*parts: Json) -> Json:
    """Return attributes with the members and declarations of several."""
    declared = [item for part in parts for item in part.get("zarr_conventions", ())]
    merged = {key: value for part in parts for key, value in part.items()}
    return {**merged, "zarr_conventions": declared} if declared else merged


class _Hierarchy(Drawing):
    """Draws one hierarchy."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.leaves: Sequence[str] = self.any(*_LEAVES)
        self.names = self.several(_NAMES, 3, 5)

    def several(self, values: Sequence[str], least: int = 0, most: int = 2) -> list[str]:
        """Return different values, in any order."""
        chosen = st.lists(st.sampled_from(values), min_size=least, max_size=most, unique=True)
        return list(self._draw(chosen))

    def name(self) -> str:
        """Return the name of an array, which exists in most groups."""
        return str(self.any(*self.names, self.any(*_NAMES)))

    def path(self) -> str:
        """Return a path to an array, which may be missing."""
        leaf = self.any(*self.leaves)
        absolute, beside = f"/{leaf}/", f"../{leaf[-1]}/"
        above = self.any("", "./", absolute, absolute, beside, beside, "../", "/", "../c/")
        return f"{above}{self.name()}"

    def reference(self) -> Json:
        node = {"node": self.path()}
        return self.any(node, node, {"ref": node})

    # Attributes of groups.

    def catalogue(self) -> Json:
        described: Json = {}
        for name in self.several([*self.names, "x", "y"], 1, 3):
            along = self.any(["y", "x"], ["y", "x"], ["y"], ["x"])
            descriptor: Json = {"type": "array", "path": self.any(name, self.path())}
            if len(along) == 1:
                end = _SIZES[along[0]] - 1
                interval = {"type": "interval", "start": 0, "end": end, "step": 1}
                descriptor = self.any(descriptor, interval)
            described[name] = {**descriptor, "indexed_by": along}
        if self.chance():
            return declaring("coords", **{"coords:coordinates": described})
        newer = {name: {"coords": descriptor} for name, descriptor in described.items()}
        key = self.any("dimensions:axes", "dimensions:coordinates")
        return declaring("coords", **{key: newer})

    def geolocation(self) -> Json:
        pair = {"x": self.reference(), "y": self.reference()}
        return declaring("geolocation", geolocation={self.any("geodetic", "planar"): pair})

    def dggs(self) -> Json:
        grid = {"name": "healpix", "refinement_level": 0, "indexing_scheme": "nested"}
        named = self.any({}, {"coordinate": self.name()}, {"coordinate": self.path()})
        return declaring("dggs", dggs={**grid, "spatial_dimension": "cells", **named})

    def spatial(self) -> Json:
        transform = [1, 0, self.any(0, 10), 0, -1, 4]
        written = self.any({}, {"spatial:transform": transform}, {"spatial:transform": transform})
        return declaring("spatial", **{"spatial:dimensions": [*_GRID]}, **written)

    def proj(self) -> Json:
        return declaring("proj", **{"proj:code": self.any("EPSG:4326", "EPSG:32632")})

    def layout(self) -> Json:
        """Return a layout that names groups or arrays, and holds attributes for them."""
        items: list[Json] = []
        for leaf in self.several(self.leaves, 1, 2):
            path = self.any(leaf, leaf, leaf[-1])
            asset = self.any(path, path, f"{path}/{self.name()}", self.name(), ".")
            item = {"asset": asset, **self.any({}, self.spatial(), self.proj(), self.dggs())}
            if items and self.chance():
                item |= {"derived_from": items[0]["asset"], "transform": {"scale": [1, 1]}}
            item.pop("zarr_conventions", None)
            items.append(item)
        conventions = self.several(["spatial", "proj", "dggs"], 1, 3)
        shared = self.any({}, {}, {"spatial:dimensions": [*_GRID]}, {"proj:code": "EPSG:3857"})
        return declaring("multiscales", *conventions, multiscales={"layout": items}, **shared)

    # Attributes of arrays.

    def cs(self) -> Json:
        axes: Json = {}
        for dim in self.several(_GRID, 1):
            values = self.any({"regular": [self.any(0, 5), 1]}, {"external": self.reference()})
            axes[dim] = {"abbreviation": dim.upper(), "coordinates": [{"values": values}]}
        return declaring("cs", cs={"crs": [{"axes": axes}]})

    def ref(self) -> Json:
        return declaring("ref", **{self.any("ref", "label"): self.reference()})

    def cf(self) -> Json:
        key = self.any(*["coordinates"] * 4, "ancillary_variables", "grid_mapping")
        declared = self.any({}, {}, {}, declaring("CF"))
        return {**declared, key: self.path()}

    def undeclared(self) -> Json:
        written: Json = self.any(
            {"GeoTransform": "5 1 0 9 0 -1"},
            {"GeoTransform": "5 1 0 9 0 -1", "grid_mapping": self.name()},
            {"proj:transform": [1, 0, 5, 0, -1, 9], "proj:code": "EPSG:32632"},
            {"_CRS": {"url": "EPSG:32632"}},
            {"standard_name": "latitude", "uom": {"ucum": {"unit": "deg"}}},
        )
        return written

    def plain(self) -> Json:
        """Return attributes that no convention reads."""
        written: Json = self.any(
            {}, {}, {"note": {"any": "object"}}, {"long_name": "a name"}, {"units": "m"}
        )
        return written

    # Nodes.

    def attributes(self, *choices: Callable[[], Json]) -> Json:
        chosen = [self.any(*choices) for _choice in range(self.any(0, 1, 1, 2))]
        return _all_of(*(choice() for choice in chosen))

    def members(self, groups: Any = ()) -> dict[str, tuple[tuple[str, ...], Json]]:
        """Return the dimensions and attributes of the arrays of a group, by name; most are equal."""
        of_arrays = (self.cf, self.cf, self.cs, self.ref, self.geolocation, self.undeclared)
        common = self.any(dict, *of_arrays, *of_arrays)()
        dims = self.any(_GRID, _GRID, _GRID, _GRID, ("cells",))
        others = [("x",), ("y",), _GRID, ()]
        return {
            name: (dims, _all_of(common, self.plain()))
            if self.chance(4) is False
            else (self.any(*others), self.plain())
            for name in self.names
            if name not in groups
        }


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[Nodes, Json]:
    """Return the nodes of a store, with equal groups, and options to open it."""
    hierarchy = _Hierarchy(draw)
    of_groups = (
        *(hierarchy.catalogue, hierarchy.catalogue, hierarchy.geolocation, hierarchy.geolocation),
        *(hierarchy.dggs, hierarchy.spatial, hierarchy.proj),
    )
    above = (*of_groups, hierarchy.layout, hierarchy.layout, lambda: {"Conventions": "CF-1.8"})
    conventions = hierarchy.any({}, {"Conventions": "CF-1.8"})
    attributes = {"": _all_of(hierarchy.attributes(*above), conventions)}
    of_leaves, of_parents = hierarchy.attributes(*of_groups), hierarchy.attributes(*above)
    leaves = hierarchy.leaves
    attributes |= {leaf[0]: of_parents for leaf in leaves if "/" in leaf}
    attributes |= {
        leaf: hierarchy.attributes(*of_groups) if hierarchy.chance(8) else of_leaves
        for leaf in leaves
    }
    members = hierarchy.members()
    arrays = {
        f"{leaf}/{name}": member
        for leaf in leaves
        for name, member in (hierarchy.members() if hierarchy.chance(8) else members).items()
    }
    if hierarchy.chance():
        at = hierarchy.any("", *attributes)
        of_group = hierarchy.members(groups={path.rpartition("/")[2] for path in attributes})
        arrays |= {f"{at}/{name}".lstrip("/"): member for name, member in of_group.items()}
    nodes: Any = {path: Group({}, copy.deepcopy(attrs)) for path, attrs in attributes.items()}
    for number, (path, (dims, attrs)) in enumerate(arrays.items()):
        shape = tuple(_SIZES[dim] for dim in dims)
        values = np.arange(float(np.prod(shape))).reshape(shape) + 100 * number
        nodes[path] = Array(values, dims, copy.deepcopy(attrs))
    assumed = hierarchy.any((), (), (), (), "auto", "auto", "cf", "geozarr", "proj")
    return nodes, {"assume_conventions": assumed}
