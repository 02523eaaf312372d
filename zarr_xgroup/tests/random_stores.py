"""Random stores: hierarchies with documents of every convention, as they should be or gone wrong.

A store is a dict of JSON values by key, so that it can be printed, kept and cut down. A text
stands for the bytes of its characters: a chunk, or a document that is no JSON. One key is no part
of the store: `ASSUMED`, which says how it is to be opened.
"""

import copy
import json
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import numpy as np

from zarr_xgroup.tests.builders import UUIDS, Contents
from zarr_xgroup.tests.documents import array, group, v2_files
from zarr_xgroup.tests.strategies import ODD_VALUES, mutate, places

Json: TypeAlias = Any
#: A store: its documents and, as texts, its chunks, by key.
Documents: TypeAlias = dict[str, Json]

DOCUMENT_NAMES = ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata")

#: The key at which a store says which conventions are assumed when it is opened.
ASSUMED = "assume_conventions"

_NAMES = ("cs", "spatial", "geolocation", "ref", "uom", "proj", "geozarr", "CF")

_DIMENSIONS = ("x", "y", "t", "z", "time", "lat", "X")
_ARRAYS = ("x", "y", "t", "z", "time", "lat", "lon", "a", "b", "data", "x_bounds")
_GROUPS = ("g", "h", "coords", "x", "1")
_ODD_NAMES = (
    *("bounds", "spatial_ref", "crs", "a b", "\u00e9", "e\u0301", "_", "0", "c", "A", "x" * 300),
    *("..", ".", "...", "a\\b", "a#b", "a?b", "a:b", "%2e%2e", "a%2Fb", "-", "\ud800", "\n", "~0"),
    *("zarr.json", ".zarray", ".zgroup", "__proto__", "x_1", "phony_dim_0", "node", "/t", "t/"),
)
_SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5)
_LIMITS = (
    *(2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), 10**400),
    *(1e308, -1e308, 5e-324, -0.0, 0.1, "NaN", "Infinity", "-Infinity", "1", "0x7fc00000"),
)
_DTYPES = ("float64", "float64", "float64", "float32", "int64", "int32", "int16", "uint8", "bool")
_UNITS = ("m", "degrees_east", "degrees_north", "K", "1", "days", "days since 2000-01-01", "hPa")
_CODES = ("EPSG:4326", "EPSG:32632", "EPSG:4979", "OGC:CRS84", "EPSG:999999", "nonsense", "", None)
_CALENDARS = ("standard", "noleap", "360_day", "proleptic_gregorian", "mayan", "")
_ROOTS = ("NZ-1.0 CF-1.12", "CF-1.8, nz-1.0", "NZ-1.0", "CF-1.12", ["NZ-1.0", "CF-1.12"], 5)
_TILE_SETS = (
    *("WebMercatorQuad", "http://www.opengis.net/def/tilematrixset/OGC/1.0/WorldCRS84Quad"),
    *("#/attributes/tiles", "..#/attributes/tiles", "g#/attributes", "nowhere", "a:b#/c", "", 5),
)
_EPOCHS = ("2000-01-01", "1850-01-01T00:00:00Z", "2026-02-30", "01.02.2028", "0000-01-01", "now")


def contents_of(store: Documents) -> Contents:
    """Return what is stored by key."""
    return {
        key: (
            value.encode("latin-1", "replace")
            if isinstance(value, str)
            else json.dumps(value).encode()
        )
        for key, value in store.items()
    }


def node_paths(store: Documents) -> Iterator[str]:
    """Yield the path of each node that has a document, once."""
    yield from dict.fromkeys(
        posixpath.dirname(key) for key in store if posixpath.basename(key) in DOCUMENT_NAMES
    )


def random_store(random: Random, *, is_plain: bool = False) -> Documents:
    """Return a store that a source of random numbers settles; a plain one is sound and follows no convention."""
    return _Maker(random, is_plain=is_plain).store()


@dataclass(frozen=True)
class _Array:
    """The layout of an array."""

    dims: tuple[str | None, ...]
    shape: tuple[int, ...]
    dtype: str


class _Maker:
    """One random store in the making.

    Parameters
    ----------
    random : random.Random
        Settles everything.
    is_plain : bool
        Whether it follows no convention, and nothing goes wrong.
    """

    def __init__(self, random: Random, *, is_plain: bool) -> None:
        self.random, self.is_plain = random, is_plain
        self.groups: list[str] = []
        self.arrays: dict[str, _Array] = {}
        self.declares = not is_plain and self.chance(0.75)
        self.by_gdal = not is_plain and self.chance(0.2)
        self.oddness = 0.0 if is_plain else self.any(0.0, 0.0, 0.05, 0.2)

    def any(self, *options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, probability: float) -> bool:
        return self.random.random() >= 1 - probability  # what is simplest does not happen

    def some(self, most: int) -> range:
        return range(self.random.randint(0, most))

    def name(self, names: tuple[str, ...]) -> str:
        return str(self.any(*(_ODD_NAMES if self.chance(self.oddness) else names)))

    def number(self) -> Json:
        if self.chance(self.oddness / 2):
            return self.any(*_LIMITS)
        return self.any(self.random.randint(-20, 20), self.random.randint(-80, 80) / 4)

    def numbers(self, length: int) -> list[Json]:
        return [self.number() for _item in range(length)]

    # The hierarchy.

    def store(self) -> Documents:
        self.add_group("", self.any(0, 1, 1, 1, 2))
        zarr_format = self.any(3, 3, 2)
        mixed = self.chance(0.05)
        store: Documents = {}
        documents: dict[str, Json] = {path: group(self.of_group(path)) for path in self.groups}
        for path, layout in self.arrays.items():
            documents[path] = self.array(path, layout)
        for path, document in documents.items():
            form = self.any(2, 3) if mixed else zarr_format
            files = v2_files(document) if form == 2 else {"zarr.json": document}
            prefix = f"{path}/" if path else ""
            store |= {f"{prefix}{name}": value for name, value in files.items()}
            if path in self.arrays:
                store |= self.chunks(prefix, self.arrays[path], form)
        # Each node with documents of its own, which those of its copies are not.
        store = copy.deepcopy(store)
        if not self.is_plain:
            self.break_some(store)
        if self.chance(0.3):
            store = self.consolidated(store, zarr_format)
        if not self.is_plain and self.chance(0.8 if self.by_gdal else 0.15):
            store[ASSUMED] = self.assumed()
        return store

    def assumed(self) -> list[str]:
        """Return the conventions that are assumed of a store."""
        if self.by_gdal:
            return ["geozarr", *self.random.sample(_NAMES, self.any(0, 0, 1))]
        return self.random.sample(_NAMES, self.any(1, 1, 2, len(_NAMES)))

    def add_group(self, path: str, depth: int) -> None:
        self.groups.append(path)
        prefix = f"{path}/" if path else ""
        sizes = {dim: self.any(*_SIZES) for dim in _DIMENSIONS}
        for _array in range(self.any(1, 1, 2, 2, 3, 4)):
            self.add_array(f"{prefix}{self.name(_ARRAYS)}", sizes)
        for _group in range(self.any(1, 1, 2) if depth else 0):
            child = f"{prefix}{self.name(_GROUPS)}"
            if child not in self.groups:
                self.add_group(child, depth - 1)

    def add_array(self, path: str, sizes: dict[str, int]) -> None:
        name = posixpath.basename(path)
        dims = self.random.sample(_DIMENSIONS, self.any(0, 1, 1, 1, 2, 2, 3))
        if name in sizes and self.chance(0.7):
            dims = [name]
        shape = [sizes[dim] for dim in dims]
        names: list[str | None] = [*dims]
        for index in range(len(dims)):
            if self.chance(self.oddness):
                names[index] = self.any(None, "", name, dims[0], *_ODD_NAMES)
            if self.chance(self.oddness / 4):
                shape[index] = self.any(*_SIZES, 2**31, 10**10, 2**63 - 1)
        self.arrays[path] = _Array(tuple(names), tuple(shape), self.any(*_DTYPES))

    def array(self, path: str, layout: _Array) -> Json:
        dims = None if self.chance(self.oddness) else layout.dims
        document = array(layout.shape, dims, self.of_array(path, layout), layout.dtype)
        if layout.dtype == "bool":
            document["fill_value"] = False
        if self.chance(self.oddness):
            document["fill_value"] = self.any(1, None, *_LIMITS)
        return document

    def chunks(self, prefix: str, layout: _Array, zarr_format: int) -> Documents:
        """Return the only chunk of a small array, mostly; its values mostly increase."""
        size = 1
        for length in layout.shape:
            size *= length
        if not 0 < size <= 100 or self.chance(0.3):
            return {}
        values = (
            np.arange(size) if self.chance(0.8) else np.array(self.random.choices(range(9), k=size))
        )
        content = values.astype(np.dtype(layout.dtype).newbyteorder("<")).tobytes()
        if self.chance(self.oddness):
            content = content[: self.random.randint(0, len(content))]
        zeros = ["0"] * len(layout.shape)
        key = "/".join(["c", *zeros]) if zarr_format == 3 else ".".join(zeros) or "0"
        return {f"{prefix}{key}": content.decode("latin-1")}

    # What goes wrong.

    def break_some(self, store: Documents) -> None:
        """Change some members of documents, anywhere or in attributes."""
        for _time in range(self.any(0, 0, 0, 1, 1, 2, 4)):
            key = self.any(*store)
            if isinstance(store[key], str):
                continue
            inner = store[key].get("attributes") if isinstance(store[key], dict) else None
            found = list(places(inner if inner and self.chance(0.8) else store[key]))
            if self.chance(0.03):
                store[key] = self.any("", "{", "\0", "[1,]", *ODD_VALUES)
            elif found:
                mutate(self.random.choice, *self.random.choice(found))

    def consolidated(self, store: Documents, zarr_format: int) -> Documents:
        """Return a store with copies of its documents at the root, which may lie."""
        names = ("zarr.json",) if zarr_format == 3 else DOCUMENT_NAMES[1:4]
        copies = {
            key: copy.deepcopy(value)
            for key, value in store.items()
            if posixpath.basename(key) in names
        }
        root = copies.pop("zarr.json", None)
        if zarr_format == 3:
            copies = {posixpath.dirname(key): value for key, value in copies.items()}
        if copies and not self.is_plain and self.chance(0.5):
            self.lie(copies)
        if zarr_format == 2:
            return {**store, ".zmetadata": {"zarr_consolidated_format": 1, "metadata": copies}}
        if not isinstance(root, dict):
            return store
        inline = {"kind": "inline", "must_understand": False, "metadata": copies}
        return {**store, "zarr.json": {**root, "consolidated_metadata": inline}}

    def lie(self, copies: Documents) -> None:
        key = self.any(*copies)
        what = self.any("absent", "renamed", "twice", "broken")
        if what == "absent":
            del copies[key]
        elif what == "broken":
            self.break_some(copies)
        else:
            other = self.any("..", ".", "a//b", "/x", "x/", "a/../b", "new", *self.groups)
            name = posixpath.basename(key)
            target = f"{other}/{name}" if name in DOCUMENT_NAMES else other
            copies[target] = copies[key] if what == "twice" else copies.pop(key)

    # Attributes.

    def of_group(self, path: str) -> Json:
        attributes: Json = {}
        if self.by_gdal and self.chance(0.6):
            attributes |= self.any(self.tiles, self.as_stac)(path, None)
        if not (path or self.is_plain) and self.chance(0.1):
            attributes[self.any("conventions", "Conventions")] = self.any(*_ROOTS)
        if self.declares and self.chance(0.5):
            conventions = ("cs", "spatial", "proj", "geolocation", "multiscales")
            declared = self.declaring(self.random.sample(conventions, 2), path, None)
            return {**attributes, **declared}
        if self.chance(0.3):
            attributes |= self.any(
                {"title": "a"}, {"coordinates": "x lat"}, {"Conventions": "CF-1.8"}
            )
        return attributes

    def of_array(self, path: str, layout: _Array) -> Json:
        attributes: Json = {}
        for _attribute in self.some(2):
            attributes |= self.plain_attribute(path, layout)
        if self.declares and self.chance(0.5):
            conventions = ("cs", "cs", "spatial", "proj", "ref", "uom", "geolocation", "CF")
            chosen = self.random.sample(conventions, self.any(1, 1, 2))
            attributes |= self.declaring(chosen, path, layout)
        if self.by_gdal and self.chance(0.6):
            attributes |= self.any(self.as_gdal, self.as_gdal, self.as_stac)(path, layout)
        return attributes

    def declaring(self, conventions: list[str], path: str, layout: _Array | None) -> Json:
        """Return attributes that follow conventions, and declare them in one of the spellings."""
        attributes: Json = {}
        for convention in conventions:
            attributes |= getattr(self, f"as_{convention}")(path, layout)
        names = dict.fromkeys([*conventions, *(["ref"] if self.chance(0.2) else [])])
        spellings: list[Callable[[str], Json]] = [
            lambda name: {"uuid": UUIDS[name]},
            lambda name: {"uuid": UUIDS[name], "name": name},
            lambda name: {"name": f"{name}:"},
        ]
        items = [self.any(spellings[0], *spellings)(name) for name in names]
        if self.chance(0.1):
            return {**attributes, "zarr_conventions": {UUIDS[name]: {} for name in names}}
        return {**attributes, "zarr_conventions": items}

    def plain_attribute(self, path: str, layout: _Array) -> Json:
        """Return an attribute that xarray or CF reads."""
        others = [posixpath.basename(other) for other in self.arrays] or ["x"]
        names = " ".join(self.random.choices(others, k=self.random.randint(1, 2)))
        key = self.any(
            "coordinates", "bounds", "grid_mapping", "ancillary_variables", "units", "pack"
        )
        if key == "units":
            return {"units": self.any(*_UNITS), **self.any({}, {"calendar": self.any(*_CALENDARS)})}
        if key == "pack":
            packing = {"scale_factor": self.number(), "add_offset": self.number()}
            fill = {self.any("_FillValue", "missing_value"): self.any(0, "NaN", *_LIMITS)}
            return self.any(packing, fill, {"_Unsigned": "true"}, {"dtype": "bool"}, {"axis": "X"})
        if self.chance(0.2):
            return {key: self.path(path)}
        return {key: names}

    def as_CF(self, path: str, _layout: _Array | None) -> Json:  # noqa: N802 - its name
        keys = ("coordinates", "bounds", "grid_mapping", "ancillary_variables", "climatology")
        paths = [self.path(path), f"a: {self.path(path)} b: {self.path(path)}"]
        return {
            self.any(*keys): paths[0],
            self.any("formula_terms", "cell_measures", "grid_mapping"): self.any(*paths),
        }

    def as_uom(self, _path: str, _layout: _Array | None) -> Json:
        return {"uom": self.unit()}

    def unit(self) -> Json:
        unit = self.any(*_UNITS)
        uom = {"ucum": {"unit": unit}}
        return self.any(uom, {"uom": uom}, unit)

    def as_ref(self, path: str, _layout: _Array | None) -> Json:
        return {self.any("label", "scanned", "x", "units"): self.reference(path)}

    def as_proj(self, _path: str, _layout: _Array | None) -> Json:
        projjson = {"type": "GeographicCRS", "name": "x"}
        return self.any(
            {"proj:code": self.any(*_CODES)},
            {"proj:code": self.any(*_CODES)},
            {"proj:epsg": self.any(4326, 32632, -1, 2**40)},
            {"proj:wkt2": self.any("GEOGCRS[]", "", "nonsense")},
            {"proj:projjson": projjson},
        )

    def as_spatial(self, _path: str, layout: _Array | None) -> Json:
        dims: list[str | None] = list(layout.dims[-2:]) if layout else ["y", "x"]
        transform = self.any([1, 0, 5, 0, -1, 9], [2, 1, 0, 1, 2, 0], self.numbers(6))
        attributes = {"spatial:dimensions": dims, "spatial:transform": transform}
        if self.chance(0.2):
            attributes["spatial:bbox"] = self.any([0, 0, 0, 0], self.numbers(4))
        if self.chance(0.2):
            attributes["spatial:registration"] = self.any("pixel", "node", "corner")
        if self.chance(0.2):
            attributes["spatial:shape"] = list(layout.shape) if layout else [3, 3]
        if self.chance(0.1):
            del attributes["spatial:transform"]
        return attributes

    def as_multiscales(self, _path: str, _layout: _Array | None) -> Json:
        assets = [posixpath.basename(path) for path in (*self.groups, *self.arrays)]
        level = {"asset": self.any(*assets), "transform": {"scale": self.numbers(2)}}
        derived = {"asset": self.any(*assets), "derived_from": level["asset"]}
        relative = {"scale": self.any([2, 2], [0, 1]), "translation": self.numbers(2)}
        return {"multiscales": {"layout": [level, {**derived, "transform": relative}]}}

    # What is meant without a declaration.

    def as_gdal(self, path: str, _layout: _Array | None) -> Json:
        """Return attributes that GDAL writes on arrays and on grid mapping variables."""
        transform = self.any([5, 1, 0, 9, 0, -1], [0, 2, 1, 0, 1, 2], self.numbers(6), [1, 2])
        text = self.any(" ", ",", ", ").join(map(str, transform))
        attributes: Json = {"GeoTransform": self.any(transform, text, text, "1 b 0 0 0 1")}
        if self.chance(0.4):
            code = self.any(*_CODES)
            url = f"http://www.opengis.net/def/crs/{str(code).replace(':', '/0/')}"
            attributes["_CRS"] = self.any(
                {"url": url}, {"wkt": "GEOGCS[]"}, {"projjson": {"type": "GeographicCRS"}}, code
            )
        if self.chance(0.4):
            attributes["grid_mapping"] = self.any(self.path(path), "spatial_ref", "crs: x y")
        return attributes if self.chance(0.8) else self.without_one(attributes)

    def without_one(self, attributes: Json) -> Json:
        left_out = self.any(*attributes)
        return {key: value for key, value in attributes.items() if key != left_out}

    def as_stac(self, path: str, layout: _Array | None) -> Json:
        """Return what the projection extension of STAC says of a grid."""
        matrix = self.any([1, 0, 5, 0, -1, 9], [2, 1, 0, 1, 2, 0], self.numbers(6))
        shape = list(layout.shape[-2:]) if layout else [3, 2]
        written = {
            "proj:transform": self.any(matrix, [*matrix, 0, 0, 1], [*matrix, *self.numbers(3)]),
            "proj:shape": self.any(shape, shape, shape[::-1], [3, 2]),
            "proj:bbox": self.any([0, 0, 0, 0], self.numbers(4)),
        }
        kept = {key: value for key, value in written.items() if self.chance(0.7)}
        return {**kept, **self.as_proj(path, layout)}

    def tiles(self, path: str, _layout: _Array | None) -> Json:
        """Return attributes of a pyramid whose levels follow a tile matrix set."""
        prefix = f"{path}/" if path else ""
        below = {group.removeprefix(prefix).partition("/")[0] for group in self.groups} | {*_GROUPS}
        matrices = [self.tile_matrix(name) for name in sorted(below) if self.chance(0.8)]
        tile_set = {
            "id": "a",
            "tileMatrices": matrices,
            "orderedAxes": self.any(["X", "Y"], ["lat"]),
        }
        tile_set |= self.any({}, {"crs": self.any(*_CODES)}, {"crs": {"wkt": "GEOGCRS[]"}})
        if self.chance(0.2):
            tile_set = self.without_one(tile_set)
        named = {"tile_matrix_set": self.any(tile_set, tile_set, *_TILE_SETS)}
        rows = {"min_tile_row": 0, "max_tile_row": self.any(0, 1, -1, 2**60)}
        columns = {"min_tile_col": self.any(0, 1), "max_tile_col": self.any(0, 1, 2)}
        limits = {name: {**rows, **columns} for name in _GROUPS if self.chance(0.5)}
        more = self.any({}, {}, {"tile_matrix_set_limits": limits})
        beside = {"tiles": tile_set} if self.chance(0.3) else {}
        return {"multiscales": {**named, **more}, **beside}

    def tile_matrix(self, name: str) -> Json:
        matrix = {
            "id": name,
            "cellSize": self.any(1, 0.5, 0, self.number()),
            "pointOfOrigin": self.any([0, 9], [-180, 90], self.numbers(2)),
            **{key: self.any(1, 2, 3, 4, 256) for key in ("tileWidth", "tileHeight")},
            **{key: self.any(1, 1, 2, 3) for key in ("matrixWidth", "matrixHeight")},
        }
        matrix |= self.any({}, {}, {"cornerOfOrigin": self.any("topLeft", "bottomLeft")})
        return matrix if self.chance(0.9) else self.without_one(matrix)

    def as_geolocation(self, path: str, _layout: _Array | None) -> Json:
        found = {}
        for kind in self.any(["geodetic"], ["planar"], ["geodetic", "planar"]):
            found[kind] = {"x": self.reference(path), "y": self.reference(path)}
            if self.chance(0.3):
                found[kind][self.any("crs", "id")] = self.as_proj(path, None)
        return {"geolocation": found}

    def as_cs(self, path: str, layout: _Array | None) -> Json:
        if layout is None:
            return {"crs": {key: self.system(path, None) for key in self.any(("a",), ("a", "b/~"))}}
        systems = [
            self.reference(path, self.any("/attributes/crs/a", "/attributes/crs/b~1~0"))
            if self.chance(0.2)
            else self.system(path, layout)
            for _system in range(self.any(1, 1, 1, 2))
        ]
        cs: Json = {"crs": systems}
        if self.chance(0.2):
            cs["id"] = self.as_proj(path, None)
        return {"cs": cs}

    def system(self, path: str, layout: _Array | None) -> Json:
        sizes = dict(zip(layout.dims, layout.shape, strict=True)) if layout else {"x": 3, "y": 2}
        names = [name for name in sizes if name is not None]
        names = [*names, *(["height"] if self.chance(0.2) else [])] or ["height"]
        axes = {name: self.axis(path, sizes.get(name, 1)) for name in names}
        system: Json = {"axes": axes}
        if self.chance(0.2):
            system["axes"] = [{"name": name, **axis} for name, axis in axes.items()]
        if self.chance(0.2):
            system["id"] = self.as_proj(path, None)
        if self.chance(0.1):
            system |= self.as_geolocation(path, None)
        return system

    def axis(self, path: str, size: int) -> Json:
        axis: Json = {"coordinates": [self.set(path, size) for _set in range(self.any(1, 1, 2))]}
        if self.chance(0.5):
            axis["abbreviation"] = self.any("X", "Y", "Z", "T", "x")
        if self.chance(0.2):
            axis["direction"] = self.any("east", "NORTH", "up", "down", "future", "left")
        if self.chance(0.2):
            axis["attributes"] = self.any(
                {"long_name": "a"},
                {"units": self.any(*_UNITS, [], 5)},
                {"scale_factor": self.number()},
                {"_FillValue": self.number()},
            )
        return axis

    def set(self, path: str, size: int) -> Json:
        item: Json = {"values": self.values(path, size)}
        extras: dict[str, Callable[[], Json]] = {
            "name": lambda: self.name(_ARRAYS),
            "unit": self.unit,
            "time": self.time,
            "direction": lambda: self.any("east", "up", "past"),
            "boundaries": lambda: self.boundaries(path, size),
            "attributes": lambda: {"units": self.any(*_UNITS)},
            "parametric": lambda: self.parametric(path, size),
        }
        return item | {key: make() for key, make in extras.items() if self.chance(0.15)}

    def time(self) -> Json:
        unit, epoch = self.any("days", "h", "month", "ns", "fortnight"), self.any(*_EPOCHS)
        time = self.any({"unit": unit, "epoch": epoch}, {"reference": f"{unit} since {epoch}"})
        return {**time, **self.any({}, {"calendar": self.any(*_CALENDARS)})}

    def values(self, path: str, size: int) -> Json:
        kind = self.any("regular", "explicit", "external")
        if kind == "regular":
            return {"regular": self.numbers(2)}
        if kind == "explicit":
            return {"explicit": self.any(self.numbers(min(size, 9)), ["a"] * min(size, 9))}
        reference = self.reference(path)
        return self.any({"external": reference}, {"ref": {"external": reference}})

    def boundaries(self, path: str, size: int) -> Json:
        external = {"external": self.reference(path)}
        return self.any(
            {"regular": self.numbers(2)}, external, {"explicit": self.numbers(size % 9)}
        )

    def parametric(self, path: str, size: int) -> Json:
        formula = self.any("ocean_s_coordinate_g1", "atmosphere_sigma_coordinate", "magic")
        return {
            "formula": formula,
            "terms": {term: self.values(path, size) for term in ("a", "ps")},
        }

    # References.

    def reference(self, path: str, attribute: str | None = None) -> Json:
        """Return a reference, mostly to an array of the store."""
        reference: Json = {"node": self.path(path)}
        if attribute is None and self.chance(0.1):
            attribute = self.any(
                "", "/", "/attributes", "/shape", "/attributes/cs/crs/0", "x", "/a~2"
            )
        if attribute is not None:
            reference["attribute"] = attribute
        if self.chance(0.03):
            reference["uri"] = self.any(
                "memory://nowhere", "file:///nowhere", "nowhere", "", "a::b"
            )
        return self.any(reference, {"ref": reference})

    def path(self, path: str) -> str:
        """Return a path to some node, mostly an array, in one of the ways to write it."""
        if self.chance(0.05):
            return str(
                self.any("nowhere", "../../..", "", ".", "/", "//", "a//b", "\0", "%2e%2e/x")
            )
        nodes = [*self.arrays] * 4 + self.groups
        target = self.any(*nodes)
        base = self.any(path, posixpath.dirname(path))
        relative = posixpath.relpath(f"/{target}", f"/{base}")
        return str(self.any(f"/{target}", relative, relative, f"./{posixpath.basename(target)}"))
