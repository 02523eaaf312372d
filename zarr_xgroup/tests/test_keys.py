"""Each key of a convention is written in one module: where it is described."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import pytest

import zarr_xgroup
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.declaring import ATTRIBUTE as DECLARATIONS
from zarr_xgroup.conventions.descriptions import Attribute, Model, fields_of
from zarr_xgroup.conventions.registry import declarable
from zarr_xgroup.tests.test_architecture import MODULES

#: Keys of conventions that are words of others, too: a module that has one may mean those.
WORDS_OF_OTHERS = {
    "attributes": "Zarr has them in documents, xarray in variables",
    "name": "Zarr's codecs, PROJJSON, xarray and Python have it",
    "coordinates": "CF's attribute, and xarray's",
    "calendar": "CF's attribute, and xarray's encoding",
    "time": "what dimensions are called",
    "x": "what coordinates are called",
    "y": "what coordinates are called",
    "type": "JSON Schema's and PROJJSON's",
    "direction": "of an axis in PROJJSON",
    "unit": "of an axis in PROJJSON, and of WKT",
    "id": "of a CRS in PROJJSON, and of a tile matrix",
    "crs": "of a tile matrix set, and what tools call the variable of a CRS",
    "reference": "a storage of fsspec's",
    "axis": "CF's attribute, and of a CRS in PROJJSON",
    "conventions": "a module of the package",
    "convention": "a word of messages and of the command line",
    "coordinate": "a word of messages and of reports",
    "coords": "what some write in an axis of cs",
    "end": "a dimension of the ranges of cells, start and end",
    "path": "of files and stores",
    "description": "JSON Schema's, and of any object for people",
    "version": "of our own reports",
    "uuid": "an attribute of handlers",
    "uri": "of a tile matrix set; and what is redacted",
    "node": "where the first cell is centred, and of our own places",
    "planar": "a type of CRS, too",
    "transform": "STAC's and GDAL's",
}


#: Attributes of CF are those of netCDF: xarray has all by their names, and what is attached gets them.
OF_NETCDF = {it.key for it in CfHandler.described}


def models() -> Iterator[type[Model]]:
    """Yield all classes of the package that describe objects of JSON."""
    pending = [Model]
    while pending:
        for model in pending.pop().__subclasses__():
            pending.append(model)
            if model.__module__ in {f"zarr_xgroup.{name}" for name in MODULES}:
                yield model


def described_attributes() -> list[Attribute]:
    """Return the attributes of all conventions, and that by which they are declared."""
    return [DECLARATIONS, *chain(*(it.described for it in declarable()))]


def described() -> dict[str, set[str]]:
    """Return the keys that descriptions declare, and the modules whose models have fields called so."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for model in models():
        for name, (_kind, member) in fields_of(model).items():
            found[member.key] |= (
                {model.__module__.partition(".")[2]} if name == member.key else set()
            )
    return found | {it.key: found[it.key] for it in described_attributes()}


def texts_in(tree: ast.AST) -> set[str]:
    """Return what a module has as texts."""
    constants = (it.value for it in ast.walk(tree) if isinstance(it, ast.Constant))
    return {it for it in constants if isinstance(it, str)}


def test_each_key_is_written_in_one_module() -> None:
    keys, places = described(), defaultdict(set)
    for name, tree in MODULES.items():
        for text in texts_in(tree) & {*keys} - {*WORDS_OF_OTHERS} - OF_NETCDF:
            places[text].add(name)
    # One that objects of several conventions have is a field in the module of each, and one may be
    # an attribute besides.
    attributes = {it.key for it in described_attributes()}
    several = {
        key: sorted(places[key] | modules)
        for key, modules in keys.items()
        if len(places[key] - modules) > (1 if key in attributes or not modules else 0)
    }
    assert several == {}


def test_words_of_others_are_no_more_than_needed() -> None:
    assert {*WORDS_OF_OTHERS} <= {*described()}


def test_what_is_described_is_what_schemas_have() -> None:
    def keys_in(schema: object) -> Iterator[str]:
        if isinstance(schema, dict):
            yield from schema.get("properties", {})
            for value in schema.values():
                yield from keys_in(value)
        elif isinstance(schema, list):
            for value in schema:
                yield from keys_in(value)

    names = ["zarr_conventions", *(it.name for it in declarable() if it.described)]
    in_schemas = {key for name in names for key in keys_in(zarr_xgroup.schema(name))}
    assert in_schemas <= {*described()}


@pytest.mark.parametrize("key", ["spatial:bbox", "boundaries", "proj:code", "asset", "ucum"])
def test_keys_are_found_where_they_are_written(key: str) -> None:
    assert key in described()
    assert described()[key] or any(key in texts_in(tree) for tree in MODULES.values())
