"""Random stores: sample stores in any form, with random changes to their documents.

A store is a dict of JSON values by key, so that it can be printed, saved and reduced. A string
stands for bytes: a chunk, or a document that is not JSON. The key `ASSUMED` is not part of the
store, but an option for opening it.
"""

import copy
import json
import posixpath
from collections.abc import Iterator
from random import Random
from typing import Any, TypeAlias

from zarr_xgroup.tests.builders import SAMPLE, Contents
from zarr_xgroup.tests.documents import FORMS
from zarr_xgroup.tests.sample_stores import SAMPLES, Sample

Json: TypeAlias = Any
#: A store: its documents and, as texts, its chunks, by key.
Documents: TypeAlias = dict[str, Json]

DOCUMENT_NAMES = ("zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata")

#: The key for the option `assume_conventions` of a store.
ASSUMED = "assume_conventions"

_CONVENTIONS = (
    "cs",
    "spatial",
    "geolocation",
    "ref",
    "uom",
    "proj",
    "geozarr",
    "gcp",
    "CF",
    "auto",
)
#: A store that declares no convention.
_PLAIN = Sample(lambda: SAMPLE)

_ODD_NAMES = (
    *("bounds", "spatial_ref", "crs", "a b", "\u00e9", "e\u0301", "_", "0", "c", "A", "x" * 300),
    *("..", ".", "...", "a\\b", "a#b", "a?b", "a:b", "%2e%2e", "a%2Fb", "-", "\ud800", "\n", "~0"),
    *("zarr.json", ".zarray", ".zgroup", "__proto__", "x_1", "phony_dim_0", "node", "x", "v", "t"),
)
#: Values of every JSON type, some of which are valid at some places.
_ODD_VALUES: tuple[Json, ...] = (
    *(None, True, False, 0, 1, -1, 0.5, 1e308, float("nan"), float("-inf"), 10**400, 2**53 + 1),
    *(2**31, 2**63, -(2**63), 5e-324, -0.0, "NaN", "-Infinity", "0x7fc00000"),
    *("", "x", "t", "v", "grid", "bounds", "height", "a/b", "/", "..", "../..", "X", "nowhere"),
    *("days since now", "days since 2000-01-01", "mayan", "noleap", "\ud800", "\0", "%2e%2e/x"),
    *("EPSG:4326", "EPSG:999999", "GEOGCS[]", "5 1 0 9 0 -1", "1 b 0 0 0 1", "NZ-1.0 CF-1.12"),
    *([], [None], [[0, 1]], [0, 1], [1e308, 1e308], [2**62, 2**62], [-(10**30), 10**30]),
    *([1, 0, 5, 0, -1, 9], [2, 1, 0, 1, 2, 0], [0, 0, 0, 0], ["x", "x"], [None, "x"], [3, 2]),
    *(["a", "b"], [1, "a"], {}, {"node": "nowhere"}, {"node": "x"}, {"node": "v"}),
    *({"node": "/grid"}, {"node": "/data/v", "attribute": "/attributes/cs"}),
    *({"node": "v", "attribute": "/attributes/cs/crs/0"}, {"ref": {"node": "../../.."}}),
    *({"ref": {"node": 5}}, {"node": "x", "uri": "nowhere"}, {"external": {"node": "v"}}),
    *({"regular": [0, 0]}, {"explicit": [1]}, {"units": "days since 2000-01-01", "calendar": 5}),
    *({"scale_factor": "a", "_FillValue": {}, "dtype": 5, "coordinates": [5]},),
    *({"": {"coordinates": [{"values": {"explicit": [1]}}]}},),
)
#: Attributes that xarray, CF or GDAL reads.
_ODD_ATTRIBUTES = (
    *("coordinates", "bounds", "grid_mapping", "ancillary_variables", "formula_terms", "units"),
    *(
        "calendar",
        "scale_factor",
        "add_offset",
        "_FillValue",
        "missing_value",
        "_Unsigned",
        "dtype",
    ),
    *("GeoTransform", "_CRS", "proj:transform", "tile_matrix_set", "Conventions", "uom", "label"),
)


def contents_of(store: Documents) -> Contents:
    """Return the stored bytes by key."""
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


def places(value: Json) -> Iterator[tuple[Any, Any]]:
    """Yield the container and key of each member of each object and list in a JSON value."""
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def random_store(random: Random, *, is_plain: bool = False) -> Documents:
    """Return a store made with random numbers. A plain store declares no convention."""
    sample = random.choice([_PLAIN, *SAMPLES.values()])
    zarr_format, consolidated = random.choice(FORMS)
    store = _documents(sample.contents(zarr_format, consolidated))
    if is_plain:
        for container, key in [place for document in store.values() for place in places(document)]:
            if key == "zarr_conventions":
                del container[key]
    elif random.random() < 0.3:  # groups whose references now refer to other nodes
        other = _documents(random.choice([*SAMPLES.values()]).contents(zarr_format))
        store |= {f"other/{key}": value for key, value in other.items()}
    for _time in range(random.choice([0, 1, 1, 2, 2, 4, 8])):
        _change(store, random)
    if not is_plain and (sample.assumed or random.random() < 0.15):
        store[ASSUMED] = [sample.assumed or random.choice(_CONVENTIONS)]
    return store


def _documents(contents: Contents) -> Documents:
    return {
        key: json.loads(value)
        if posixpath.basename(key) in DOCUMENT_NAMES
        else value.decode("latin-1")
        for key, value in contents.items()
    }


def _change(store: Documents, random: Random) -> None:
    """Change a member of a document (usually an attribute), a document, a chunk, or a name."""
    key = random.choice(list(store))
    document, choice = store[key], random.random()
    if isinstance(document, str):
        store[key] = document[: random.randint(0, len(document))]
    elif choice < 0.05:
        store[key] = copy.deepcopy(random.choice(["", "{", "\0", "[1,]", *_ODD_VALUES]))
    elif choice < 0.1:
        old, new = posixpath.dirname(key), random.choice(_ODD_NAMES)
        for other in [name for name in store if name.startswith(f"{old}/") and old]:
            path = posixpath.join(posixpath.dirname(old), new)
            store[path + other.removeprefix(old)] = store.pop(other)
    elif isinstance(document, dict):
        attributes = document if key.endswith(".zattrs") else document.get("attributes")
        if isinstance(attributes, dict) and choice < 0.2:
            attributes[random.choice(_ODD_ATTRIBUTES)] = copy.deepcopy(random.choice(_ODD_VALUES))
        elif members := list(places(attributes if attributes and choice < 0.8 else document)):
            _change_member(random, *random.choice(members))


def _change_member(random: Random, container: Any, key: Any) -> None:
    change = random.choice(["replace", "replace", "delete", "double", "rename", "wrap"])
    if change == "delete":
        del container[key]
    elif change == "double" and isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif change == "rename" and isinstance(container, dict):
        container[random.choice(_ODD_NAMES)] = container.pop(key)
    elif change == "wrap":
        container[key] = random.choice([[container[key]], {"ref": container[key]}])
    else:
        container[key] = copy.deepcopy(random.choice(_ODD_VALUES))
