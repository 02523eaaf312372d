"""Random hierarchies of CF: attached arrays agree with an oracle."""

from typing import Any

import numpy as np
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import Array, ZarrFormat, build, memory_store, quietly
from zarr_xgroup.tests.oracles.cf import References, names_in
from zarr_xgroup.tests.oracles.stores import arrays_in, name_of, parent, upwards
from zarr_xgroup.tests.strategies import Drawing, numbered, thorough

GROUPS = ("", "g", "g/h", "g/i", "k", "k/l")
REFERENCES = {
    "coordinates": ["lon", "../lon", "/g/lon", "k/lon", "area", "../../k/lon", "h/area"],
    "ancillary_variables": ["area", "../k/area", "/lon", "lon"],
    "cell_measures": ["area: area", "area: ../area", "area: /k/l/area"],
    "grid_mapping": ["crs", "../crs", "/g/crs"],
}


class Hierarchy(Drawing):
    """One random hierarchy in the making: where dimensions are defined, and arrays."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        #: What each group defines; sizes are such that no two definitions of a name share one.
        self.defined = {"": {"t": 2, "x": 3}}
        for group in draw(st.lists(st.sampled_from(GROUPS[1:]), max_size=1)):
            self.defined[group] = {"t": 5}
        self.nodes: dict[str, Any] = {group: {} for group in GROUPS}
        self.number = 0

    def place(self, group: str, dim: str) -> str:
        return next(it for it in upwards(group) if dim in self.defined.get(it, {}))

    def add(self, path: str, dims: tuple[str, ...], **attributes: Any) -> None:
        group = parent(path)
        shape = tuple(self.defined[self.place(group, dim)][dim] for dim in dims)
        self.number += 100
        # No two are described alike: one that is, beside another, is taken for its copy.
        described = {"long_name": f"{path} it is", **attributes}
        self.nodes[path] = Array(numbered(shape, self.number), dims, described)

    def fill(self) -> None:
        for group in GROUPS:
            prefix = f"{group}/".lstrip("/")
            for dim in "tx":
                if self.chance(4):
                    self.add(f"{prefix}{dim}", (dim,))
            for name in ("lon", "area"):
                if self.chance(3):
                    bounded = name == "lon" and self.chance()
                    dims = self.any(("x",), ("t", "x"), ())
                    self.add(f"{prefix}{name}", dims, **({"bounds": "edges"} if bounded else {}))
            if self.chance(4):
                self.add(f"{prefix}crs", (), grid_mapping_name="latitude_longitude")
            if self.chance(3):
                self.add(f"{prefix}edges", self.any(("x",), ("t", "x")))
            if self.chance():
                self.data(f"{prefix}v")

    def data(self, path: str) -> None:
        chosen = {
            key: " ".join(self._draw(st.lists(st.sampled_from(them), max_size=2, unique=True)))
            if key == "coordinates"
            else self.any("", *them)
            for key, them in REFERENCES.items()
        }
        dims = self.any(("t", "x"), ("x",), ("x", "t"), ("t",))
        self.add(path, dims, **{key: value for key, value in chosen.items() if value})


@st.composite
def hierarchies(draw: st.DrawFn) -> tuple[dict[str, Any], dict[tuple[str, str], str]]:
    """Return stores, and which group defines each dimension of an array where they say so."""
    builder = Hierarchy(draw)
    builder.fill()
    nodes = builder.nodes
    defined: dict[tuple[str, str], str] = {}
    if draw(st.booleans()):
        for path, node in nodes.items():
            if isinstance(node, Array):
                places = {
                    str(dim): builder.place(parent(path), str(dim)) for dim in node.dims or ()
                }
                defined |= {(path, dim): group for dim, group in places.items()}
                written = [f"/{group}/{dim}".replace("//", "/") for dim, group in places.items()]
                said = {
                    "_nczarr_array": {"dimension_references": written},
                    "_NCZARR_ARRAY": {"dimrefs": written},
                }
                nodes[path] = Array(node.values, node.dims, {**node.attrs, **said})
    return nodes, defined


def source_of(variable: Any) -> str:
    """Return the path of an array of another group."""
    address: str = variable.encoding.get("source", "").removeprefix("memory://")
    return address.partition("/")[2]


def assert_as_the_texts_say(
    drawn: tuple[dict[str, Any], dict[tuple[str, str], str]], zarr_format: ZarrFormat
) -> None:
    nodes, defined = drawn
    oracle = References(nodes, defined)
    store: Any = memory_store(build(nodes, zarr_format))
    groups = quietly(xr.open_groups, store, engine="xgroup", assume_conventions="cf")
    for group, dataset in groups.items():
        own = arrays_in(nodes, group.strip("/"))
        expected = {it: oracle.attached(it) for it in own}
        found = {source_of(it): it for it in dataset.variables.values() if source_of(it)}
        assert set(found) == set().union(*expected.values())
        for path, variable in found.items():
            np.testing.assert_array_equal(variable.values, nodes[path].values)
        for path in own:
            assert_refers(dataset, path, oracle)


def assert_refers(dataset: xr.Dataset, path: str, oracle: References) -> None:
    """Assert that attributes name what was attached, and leave what was not."""
    variable = dataset[name_of(path)]
    told = {**variable.encoding, **variable.attrs}
    attached = oracle.attached(path)
    for key in REFERENCES:
        text = oracle.nodes[path].attrs.get(key)
        if text is None:
            continue
        after = names_in(key, told.get(key, ""))
        for written, name in zip(names_in(key, text), after, strict=True):
            found = oracle.find(written, path, key)
            if found is not None and key == "coordinates":
                found = oracle.used(found, path)
            if found in attached:
                assert source_of(dataset.variables[name]) == found
            elif found is None or parent(found) == parent(path):
                assert name == (name_of(written) if found else written)


@thorough(80)
@given(hierarchies(), st.sampled_from([3, 2]))
def test_hierarchies(
    drawn: tuple[dict[str, Any], dict[tuple[str, str], str]], zarr_format: ZarrFormat
) -> None:
    assert_as_the_texts_say(drawn, zarr_format)
