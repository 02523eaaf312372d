"""Conventions of third parties: installed ones, registered ones, and those that fail."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import (
    XGroupDimensionWarning,
    XGroupNameWarning,
    XGroupNoPrincipalWarning,
    XGroupPluginWarning,
    XGroupResolutionWarning,
)
from zarr_xgroup.conventions import (
    ENTRY_POINT_GROUP,
    Attribute,
    ConventionHandler,
    Interpretation,
    Parsed,
    build_handlers,
    handlers,
    register,
    registry,
)
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.errors import Rule, XGroupError, XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.tests.builders import Nodes, build, declaring, memory_store, stored, write_store
from zarr_xgroup.tests.documents import TESTS
from zarr_xgroup.tests.pages import DOCS, blocks_of

PLUGINS = TESTS / "plugins"

TICKS = {"uuid": "5A8E9D5C-3C55-4C8A-9D64-1F2F0F2B6F10", "name": "whatever"}
QUALITY = {"schema_url": "https://example.org/a-third-party/quality/main/schema.json"}

STORE: Nodes = {
    "": {"ticks_unit": "m"},
    "g": {},
    "g/a": stored(
        np.arange(6.0).reshape(2, 3),
        "y x",
        **declaring(
            TICKS,
            QUALITY,
            ticks={"x": {"start": 10, "interval": 5}},
            quality={
                "flags": {"node": "../flags/of_a"},
                "meanings": {"ref": {"node": "/flags", "attribute": "/attributes/meanings"}},
            },
        ),
    ),
    "g/b": stored([1.0], "z"),
    "flags": {"meanings": "good bad"},
    "flags/of_a": stored(np.array([[0, 1, 0], [1, 0, 0]], "i2"), "y x", long_name="flags"),
}


# Installed: in another process, as it is for who uses them.

OPEN = """
import json, sys, warnings
import xarray as xr
told = []
for _time in range(2):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        ds = xr.open_dataset(sys.argv[1], engine="xgroup", group="g")
        tree = xr.open_datatree(sys.argv[1], engine="xgroup")
    told.append([[type(w.message).__name__, str(w.message), w.filename] for w in given])
print(json.dumps({
    "coords": {
        name: [list(v.dims), v.values.tolist(), {k: str(v.attrs[k]) for k in v.attrs}]
        for name, v in ds.coords.items()
    },
    "data": {name: v.values.tolist() for name, v in ds.data_vars.items()},
    "tree": sorted(tree["/g"].variables),
    "told": told,
}))
"""


def opened_elsewhere(folder: Path, store: Path) -> dict[str, Any]:
    """Open a store in another process that finds the plug-ins in a folder."""
    package = str(Path(zarr_xgroup.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), package])}
    done = subprocess.run(
        [sys.executable, "-c", OPEN, str(store)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install both packages into a folder, which is returned."""
    for needed in ("pip", "hatchling"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--no-build-isolation", "--target", str(folder)]
    packages = [str(PLUGINS / f"xgroup_plugin_{tier}") for tier in ("principal", "service")]
    done = subprocess.run(command + packages, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_installed_plugins_are_found_by_their_entry_points(installed: Path, tmp_path: Path) -> None:
    found = opened_elsewhere(installed, write_store(tmp_path / "store", STORE))
    assert found["coords"] == {
        "x": [["x"], [10, 15, 20], {"units": "m"}],
        "quality": [
            ["y", "x"],
            [[0, 1, 0], [1, 0, 0]],
            {"long_name": "flags", "flag_meanings": "good bad"},
        ],
    }
    assert found["data"] == {"a": [[0, 1, 2], [3, 4, 5]], "b": [1]}
    assert found["tree"] == ["a", "b", "quality", "x"]
    for told in found["told"]:
        assert {kind for kind, _text, _file in told} == {"XGroupNoPrincipalWarning"}
        # The array has a principal convention, and what it refers to needs none.
        found_paths = [text.partition(": ")[2].partition(". ")[0] for _kind, text, _file in told]
        assert found_paths == ["/g/b", "/g/b"]


BROKEN: Mapping[str, str] = {
    "no_module": "",
    "raises_on_import": "raise RuntimeError('not today')",
    "no_handler": "Handler = 5",
    "is_cs": "class Handler(Base):\n    tier, name = 'principal', 'cs'",
    "z_duplicate": "class Handler(Base):\n    tier, name = 'service', 'good'",
    "good": (
        "class Handler(Base):\n    tier, name = 'service', 'good'\n"
        "    def get_variables(self, array, group, root):\n"
        "        return {'good': xr.Variable(('x',), [7, 8, 9])}"
    ),
    "bad_detect": (
        "class Handler(Base):\n    tier, name = 'service', 'bad_detect'\n"
        "    @staticmethod\n    def detect(root, group, array):\n        raise KeyError('detect')\n"
        "    def get_variables(self, array, group, root):\n        return {}"
    ),
    "bad_get": (
        "class Handler(Base):\n    tier, name = 'service', 'bad_get'\n"
        "    def get_variables(self, array, group, root):\n        return array.attrs['nothing']"
    ),
    "nonsense": (
        "class Handler(Base):\n    tier, name = 'service', 'nonsense'\n"
        "    def get_variables(self, array, group, root):\n        return [1, 2]"
    ),
}


def test_broken_plugins_cost_one_warning_each(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    head = "import xarray as xr\nfrom zarr_xgroup.conventions import ConventionHandler as Base\n"
    for name, code in BROKEN.items():
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        line = f"{name} = plugin_{name}:Handler\n"
        (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{line}")
        if code:
            (folder / f"plugin_{name}.py").write_text(head + code + "\n")
    named = [{"name": name} for name in ("good", "bad_get", "nonsense")]
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [1, 2]}}]}}}]}
    attributes = declaring("cs", *named, cs=cs)
    store = write_store(
        tmp_path / "store",
        {
            "": {},
            "g": {},
            "g/a": stored([1, 2, 3], "x", **attributes),
            "g/b": stored([4, 5, 6], "x", **attributes),
            "g/c": stored([1], "z"),
        },
    )
    found = opened_elsewhere(folder, store)
    assert found["coords"] == {
        "x": [["x"], [1, 3, 5], {}],
        "good": [["x"], [7, 8, 9], {}],
    }
    assert found["data"] == {"a": [1, 2, 3], "b": [4, 5, 6], "c": [1]}
    assert found["tree"] == ["a", "b", "c", "good", "x"]
    assert {file for told in found["told"] for _kind, _text, file in told} == {"<string>"}
    first, second = ([(kind, text) for kind, text, _file in told] for told in found["told"])
    taken = "handles the same convention already"
    unused = {
        "is_cs": f"zarr_xgroup.conventions.cs {taken}",
        "no_handler": "it is not a subclass of zarr_xgroup.conventions.ConventionHandler",
        "no_module": "ModuleNotFoundError: No module named 'plugin_no_module'",
        "raises_on_import": "RuntimeError: not today",
        "z_duplicate": f"plugin_good {taken}",
    }
    assert [text for kind, text in first if kind == "XGroupPluginWarning"] == [
        f"Convention plug-in {name} (plugin_{name}:Handler) is not used: {reason}"
        for name, reason in unused.items()
    ]
    failed = {
        "bad_detect": ("KeyError: 'detect'", "/g/a, /g/b, /g/c"),
        "bad_get": ("KeyError: 'nothing'", "/g/a, /g/b"),
        "nonsense": ("", "/g/a, /g/b"),
    }
    assert [item for item in first if item[0] != "XGroupPluginWarning"] == second
    for name, (reason, arrays) in failed.items():
        about = [text for kind, text in second if name in text]
        assert len(about) == 2  # one for each of two opens
        for text in about:
            head = f"the handler of convention {name!r} (plugin_{name}) failed: {reason}"
            lost = f"{arrays} were opened without what convention {name!r} gives"
            assert text.startswith(f"{lost}: {head}")
    assert len(second) == 2 * (len(failed) + 1)  # and that /g/c has no principal convention


# The list of handlers.


def handler(name: str, /, **members: Any) -> type[ConventionHandler]:
    """Return a handler class of a third party, by default of one that finds nothing."""
    defaults: dict[str, Any] = {
        "tier": "service",
        "name": name,
        "get_variables": lambda *_arguments: {},
        "__module__": "third_party",
    }
    return type("Handler", (ConventionHandler,), {**defaults, **members})


def entry_point(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> EntryPoint:
    """Return an entry point that leads to a value."""
    module = types.ModuleType(f"module_of_{name}")
    module.__dict__["it"] = value
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return EntryPoint(name, f"{module.__name__}:it", ENTRY_POINT_GROUP)


def test_plugins_follow_the_built_in_handlers_sorted_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = handler("one"), handler("two", tier="principal")
    plugins = [entry_point(monkeypatch, "b", one), entry_point(monkeypatch, "a", two)]
    found, told = build_handlers((CsHandler, UomHandler), plugins)
    assert found == (CsHandler, UomHandler, two, one)
    assert told == []
    assert build_handlers((CsHandler,), []) == ((CsHandler,), [])


def _not_a_handler() -> dict[str, tuple[Any, str]]:
    not_a_handler = "it is not a subclass of zarr_xgroup.conventions.ConventionHandler"
    tier = "its 'tier' is neither 'principal' nor 'service'"
    taken = "handles the same convention already"
    return {
        "number": (5, not_a_handler),
        "nothing": (None, not_a_handler),
        "function": (len, not_a_handler),
        "other class": (dict, not_a_handler),
        "instance": (UomHandler(), not_a_handler),
        "no tier": (type("Handler", (ConventionHandler,), {"name": "it"}), tier),
        "odd tier": (handler("it", tier="layout"), tier),
        "unhashable tier": (handler("it", tier=[]), tier),
        "no name": (
            type("Handler", (ConventionHandler,), {"tier": "service"}),
            "it has no 'name'",
        ),
        "odd name": (handler("it", name=5), "it has no 'name'"),
        "odd aliases": (handler("it", aliases="its"), "its 'aliases' is no tuple of str"),
        "odd names": (handler("it", implies=(5,)), "its 'implies' is no tuple of str"),
        "odd attributes": (
            handler("it", described=None),
            "its 'described' is no tuple of Attribute",
        ),
        "base class": (ConventionHandler, tier),
        "nothing to say": (
            type("Handler", (ConventionHandler,), {"tier": "service", "name": "it"}),
            "it has neither 'interpret' nor 'get_variables'",
        ),
        "built-in": (CsHandler, f"zarr_xgroup.conventions.cs {taken}"),
        "name of a built-in": (handler("uom"), f"zarr_xgroup.conventions.uom {taken}"),
        "uuid of a built-in": (
            handler("other", uuid=CsHandler.uuid),
            f"zarr_xgroup.conventions.cs {taken}",
        ),
    }


@pytest.mark.parametrize(("value", "reason"), _not_a_handler().values(), ids=_not_a_handler())
def test_what_is_no_handler_is_told(
    value: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, told = build_handlers(
        (CsHandler, UomHandler),
        [entry_point(monkeypatch, "odd", value), entry_point(monkeypatch, "ok", handler("ok"))],
    )
    assert [item.name for item in found] == ["cs", "uom", "ok"]
    text = f"Convention plug-in odd (module_of_odd:it) is not used: {reason}"
    assert [(type(item), str(item)) for item in told] == [(XGroupPluginWarning, text)]
    with pytest.raises(TypeError) as raised:
        register(value)  # type: ignore[arg-type]
    assert str(raised.value) == f"{value!r} cannot be registered: {reason}"
    assert registry._REGISTERED == []


def test_of_two_plugins_for_one_convention_the_first_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    by_name = handler("same"), handler("same")
    by_uuid = handler("one", uuid="x"), handler("two", uuid="x")
    for first, second in (by_name, by_uuid):
        plugins = [entry_point(monkeypatch, "b", second), entry_point(monkeypatch, "a", first)]
        found, told = build_handlers((), plugins)
        assert found == (first,)
        assert [str(item) for item in told] == [
            (
                "Convention plug-in b (module_of_b:it) is not used: third_party handles the same "
                "convention already"
            )
        ]


# Registered in a notebook.


def test_a_registered_handler_is_used_at_once() -> None:
    before = handlers()

    @register
    class Doubled(ConventionHandler):
        tier = "service"
        name = "doubled"

        def get_variables(
            self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
        ) -> dict[str, xr.Variable]:
            return {"doubled": xr.Variable(("x",), 2 * np.arange(array.shape[0]))}

    assert handlers() == (*before, Doubled)
    dataset, told = opened({"": {}, "a": stored([1, 2, 3], "x", **declaring({"name": "doubled"}))})
    assert told == []
    assert dataset["a"].coords["doubled"].values.tolist() == [0, 2, 4]


@pytest.mark.parametrize("same", [{"name": "it"}, {"name": "it_2", "uuid": "u"}], ids=str)
def test_registering_again_replaces(same: dict[str, str]) -> None:
    before = handlers()
    first, other = handler("it", uuid="u"), handler("another")
    assert register(first) is first
    assert register(first) is first
    assert register(other) is other
    assert handlers() == (*before, first, other)
    again = handler("it", **same)
    register(again)
    assert handlers() == (*before, other, again)


# What handlers give, and what goes wrong with it.


def opened(nodes: Nodes, function: Any = xr.open_dataset, **options: Any) -> tuple[Any, list[Any]]:
    """Open by engine xgroup; the warnings but that on missing principal conventions."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        result = function(memory_store(build(nodes)), engine="xgroup", **options)
    told = [it.message for it in given if type(it.message) is not XGroupNoPrincipalWarning]
    return result, told


def opened_with(
    get_variables: Callable[..., Any], nodes: Nodes | None = None, **members: Any
) -> tuple[xr.Dataset, list[Any]]:
    """Open a store with a handler of the convention ``it``; the fixture forgets the handler."""
    register(handler("it", get_variables=get_variables, **members))
    return opened(nodes or DECLARING)


IT = declaring({"name": "it"})
DECLARING: Nodes = {
    "": {"title": "all"},
    "a": stored(
        np.arange(6.0).reshape(2, 3),
        "y x",
        **declaring({"name": "it"}, "cs"),
        cs={"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [1, 2]}}]}}}]},
    ),
    "b": stored([1, 2, 3], "x", **IT),
    "y": stored([5, 6], "y"),
    "bands": stored(np.arange(12).reshape(2, 2, 3), "band y x"),
}


def assert_nothing_lost(dataset: xr.Dataset) -> None:
    assert set(dataset.variables) == {"a", "b", "x", "y", "bands"}
    assert dataset["x"].values.tolist() == [1, 3, 5]
    assert dataset["b"].values.tolist() == [1, 2, 3]
    assert dataset["bands"].shape == (2, 2, 3)
    assert dataset.attrs == {"title": "all"}


def _failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_arguments: Any) -> Any:
        raise error

    return fail


FAILURE = "the handler of convention 'it' (third_party) failed: KeyError: 'k'"


@pytest.mark.parametrize("place", ["seems_meant", "why_not"])
def test_a_handler_that_cannot_tell_what_is_told_of_it_costs_that_alone(place: str) -> None:
    members = {
        "interpret": _failing(AssertionError()),
        "applies": classmethod(lambda _cls, _array: False),
        place: classmethod(_failing(KeyError("k"))),
    }
    register(handler("it", tier="principal", **members))
    attributes = {} if place == "seems_meant" else IT
    store: Any = memory_store(build({"": attributes, "a": stored(np.ones((2, 3)), "y x")}))
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        dataset = xr.open_dataset(store, engine="xgroup")
    assert dataset["a"].shape == (2, 3)
    assert len({str(it.message) for it in given if FAILURE in str(it.message)}) == 1


@pytest.mark.parametrize("answer", [5, [5], {None}], ids=repr)
def test_conventions_that_are_shared_with_and_have_no_names_are_told(answer: Any) -> None:
    shares_with = classmethod(lambda _cls, _array: answer)
    dataset, told = opened_with(lambda *_arguments: {}, tier="principal", shares_with=shares_with)
    assert_nothing_lost(dataset)
    assert sum(f"(third_party) failed: TypeError: {answer!r}" in str(it) for it in told) == 1


def test_what_a_handler_checks_and_is_no_finding_is_told() -> None:
    register(handler("it", check=classmethod(lambda _cls, _subject: "x")))
    with pytest.warns(XGroupPluginWarning, match=r"\(third_party\) failed: .*TypeError: 'x'"):
        zarr_xgroup.check(memory_store(build(DECLARING)))


@pytest.mark.parametrize("place", ["detect", "__init__", "get_variables"])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("k"), "KeyError: 'k'"),
        (RuntimeError("{braces} %s"), "RuntimeError: {braces} %s"),
        (RecursionError(), "RecursionError: "),
        (StopIteration("s"), "StopIteration: s"),
        (XGroupReferenceError("r"), "XGroupReferenceError: r"),
        (UserWarning("w"), "UserWarning: w"),
    ],
    ids=repr,
)
def test_a_handler_that_raises_costs_one_warning(place: str, error: Exception, text: str) -> None:
    members: dict[str, Any] = {"get_variables": lambda *_arguments: {}, place: _failing(error)}
    if place == "detect":
        members["detect"] = staticmethod(members["detect"])
    dataset, told = opened_with(**members)
    assert_nothing_lost(dataset)
    (warning,) = told
    assert type(warning) is XGroupResolutionWarning
    arrays = "/a, /b" if place != "detect" else "/a, /b, /bands, /y"
    assert str(warning) == (
        f"{arrays} were opened without what convention 'it' gives: the handler of convention 'it' "
        f"(third_party) failed: {text}"
    )
    kind = type(error) if isinstance(error, XGroupError) else XGroupMetadataError
    assert type(warning.error) is kind
    assert warning.error.__cause__ is error


@pytest.mark.parametrize("name", ["x", "y", "a", "b", "", "a/b", "band"])
def test_whatever_the_name_nothing_is_lost(name: str) -> None:
    dataset, told = opened_with(
        lambda *_arguments: {name: xr.Variable(("x",), [7, 8, 9], {"mine": 1})}
    )
    for known in ("a", "b", "x", "y", "bands"):
        assert known in dataset.variables
    assert dataset["x"].values.tolist() == [1, 3, 5]
    found = [str(key) for key in dataset.coords if dataset[key].values.tolist() == [7, 8, 9]]
    assert all("/" not in mine for mine in found)
    if name == "x":  # of one array it is the only coordinate of this dimension
        assert sorted(found) == ["x_1", "x_b"]
        assert {type(item) for item in told} == {XGroupNameWarning, XGroupDimensionWarning}
    else:
        (mine,) = found
        assert "mine" in dataset[mine].attrs
        assert [type(item) for item in told] == [XGroupNameWarning] * (mine != name)
    tree, _told = opened(DECLARING, xr.open_datatree)
    assert set(tree.variables) == set(dataset.variables)


def test_dimensions_that_do_not_fit_are_renamed() -> None:
    dataset, told = opened_with(lambda *_arguments: {"q": xr.Variable(("x",), [7, 8, 9, 10])})
    assert_nothing_lost(dataset.drop_vars("q"))
    assert dataset["q"].dims == ("x_q",)
    assert [type(item) for item in told] == [XGroupDimensionWarning]


def test_equal_numbers_of_two_arrays_are_one_coordinate() -> None:
    dataset, told = opened_with(lambda *_arguments: {"q": xr.Variable(("x",), [7, 8, 9])})
    assert told == []
    assert set(dataset.coords) == {"x", "y", "q"}


def test_what_a_handler_keeps_is_never_handed_out_itself() -> None:
    kept = {"q": xr.Variable(("x",), np.array([7, 8, 9]), {"list": [1]})}
    dataset, _told = opened_with(lambda *_arguments: kept)
    dataset["q"].attrs["list"].append(2)
    dataset["q"].attrs["more"] = 1
    dataset["q"].values[0] = -1
    assert kept["q"].attrs == {"list": [1]}
    assert kept["q"].values.tolist() == [7, 8, 9]
    again, _told = opened(DECLARING)
    assert again["q"].attrs == {"list": [1]}
    assert again["q"].values.tolist() == [7, 8, 9]


def test_a_handler_is_given_real_zarr_objects() -> None:
    given: list[tuple[Any, ...]] = []

    def get_variables(self: ConventionHandler, *arguments: Any) -> dict[str, xr.Variable]:
        given.append(arguments)
        return {}

    def detect(root: zarr.Group, group: zarr.Group, array: zarr.Array[Any]) -> bool:
        given.append((array, group, root))
        return array.path == "g/h/a"

    nodes: Nodes = {"": {"r": 1}, "g": {}, "g/h": {"h": 2}, "g/h/a": stored([1, 2], "x", a=3)}
    register(handler("it", get_variables=get_variables, detect=staticmethod(detect)))
    opened(nodes, group="g/h")
    assert len(given) == 2
    for array, group, root in given:
        assert isinstance(array, zarr.Array)
        assert isinstance(group, zarr.Group)
        assert isinstance(root, zarr.Group)
        assert [node.path for node in (root, group, array)] == ["", "g/h", "g/h/a"]
        assert [dict(node.attrs) for node in (root, group, array)] == [{"r": 1}, {"h": 2}, {"a": 3}]
        assert np.asarray(array[:]).tolist() == [1, 2]
        same = root["g/h/a"]
        assert isinstance(same, zarr.Array)
        assert np.asarray(same[:]).tolist() == [1, 2]


def test_an_unresolved_reference_of_a_handler_says_what_was_tried() -> None:
    def get_variables(self: ConventionHandler, *_arguments: Any) -> dict[str, xr.Variable]:
        return {"q": self.resolver.variable({"node": "absent"})}

    dataset, told = opened_with(get_variables, {"": {}, "b": DECLARING["b"]})
    assert set(dataset.variables) == {"b"}
    (warning,) = told
    assert "XGroupReferenceError" in str(warning)
    assert "tried /absent (not found in store), /b/absent (not found in store)" in str(warning)


def test_a_principal_convention_comes_after_those_built_in() -> None:
    def get_variables(self: ConventionHandler, *_arguments: Any) -> dict[str, xr.Variable]:
        return {"x": xr.Variable(("x",), [7, 8, 9])}

    dataset, told = opened_with(get_variables, tier="principal")
    assert dataset["x"].values.tolist() == [1, 3, 5]  # of cs, for `a`
    assert dataset["x_b"].values.tolist() == [7, 8, 9]
    assert {type(item) for item in told} == {XGroupResolutionWarning, XGroupDimensionWarning}
    assert [str(item) for item in told if type(item) is XGroupResolutionWarning] == [
        "/a: it declares the principal conventions cs, it; cs was used"
    ]


@pytest.mark.parametrize("implied", [(), ("proj",)])
def test_a_convention_that_implies_another_one(implied: tuple[str, ...]) -> None:
    @register
    class Tiled(ConventionHandler):
        tier = "principal"
        name = "tiled"
        implies = implied

        def interpret(self, array: ArrayView) -> Interpretation:
            return array.interpretation()

    a = stored(
        np.zeros((2, 2)), "y x", **declaring({"name": "tiled"}, **{"proj:code": "EPSG:32632"})
    )
    store: Any = memory_store(build({"": {}, "a": a}))
    dataset = xr.open_dataset(store, engine="xgroup")
    assert [*dataset.coords] == (["spatial_ref"] if implied else [])


# A convention is one module and one line.


@pytest.fixture(params=["an entry point", "BUILT_IN"])
def with_moorings(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Add the convention of the guide: its module as it stands there, and one line."""
    page = (DOCS / "handlers.md").read_text(encoding="utf-8")
    (module,) = (it.text for it in blocks_of(page) if "class MooringHandler" in it.text)
    (tmp_path / "moorings.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "moorings", raising=False)
    if request.param == "BUILT_IN":
        handler = importlib.import_module("moorings").MooringHandler
        monkeypatch.setattr(registry, "BUILT_IN", (*registry.BUILT_IN, handler))
    else:
        point = EntryPoint("mooring", "moorings:MooringHandler", ENTRY_POINT_GROUP)
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    monkeypatch.setattr(registry, "_installed", registry._installed.__wrapped__)


MOORING = {"uuid": "b4d1ad1e-7d0c-4b6f-9a53-0f6ad7e1c2f8", "name": "mooring"}


def moored(mooring: Any) -> Any:
    a = stored(np.zeros((2, 3)), "time depth", **declaring(MOORING, mooring=mooring))
    return memory_store(build({"": {}, "salinity": a}))


@pytest.mark.usefixtures("with_moorings")
def test_a_convention_of_one_module_and_one_line_is_opened() -> None:
    store = moored({"top": 10, "spacing": 5, "unit": "km"})
    depth = xr.open_dataset(store, engine="xgroup")["depth"]
    assert depth.values.tolist() == [10.0, 15.0, 20.0]
    assert depth.attrs == {"units": "km", "axis": "Z", "positive": "down"}
    explanation: Any = zarr_xgroup.explain(store).to_dict()
    (array,) = (it for it in explanation["groups"][0]["arrays"] if it["path"] == "/salinity")
    assert [it["name"] for it in array["conventions"]] == ["mooring"]
    assert zarr_xgroup.check(store).is_clean


@pytest.mark.usefixtures("with_moorings")
def test_a_convention_of_one_module_and_one_line_is_checked() -> None:
    store = moored({"top": "surface", "spacings": 5, "unit": "feet"})
    with pytest.warns(XGroupResolutionWarning, match="without the depths") as told:
        dataset = xr.open_dataset(store, engine="xgroup")
    assert not dataset.coords
    assert len(told) == 2
    found = {
        (it.rule.name, it.place.pointer.removeprefix("/attributes/mooring"), it.remedy)
        for it in zarr_xgroup.check(store).mistakes
    }
    assert found == {
        ("mooring/form", "/top", 'write, for example, "top": 10'),
        ("mooring/form", "/spacings", 'call it "spacing"'),
        ("mooring/unit", "/unit", "write one of m, km"),
    }


@pytest.mark.usefixtures("with_moorings")
def test_arrays_that_differ_in_a_described_attribute_only_are_checked_each() -> None:
    nodes = {name: {"top": top, "spacing": 5} for name, top in {"a": 10, "b": "x"}.items()}
    arrays = {
        name: stored([0.0], "depth", **declaring(MOORING, mooring=it)) for name, it in nodes.items()
    }
    store: Any = memory_store(build({"": {}, **arrays}))
    mistakes = zarr_xgroup.check(store).mistakes
    assert [(it.rule.name, it.place.node) for it in mistakes] == [("mooring/form", "/b")]


def test_a_description_that_raises_costs_its_convention_alone() -> None:
    def whole(value: Fragment) -> int:
        return int(value.value)

    @register
    class Broken(ConventionHandler):
        tier = "service"
        name = "broken"
        described = (
            Attribute("broken", Parsed(whole), Rule("broken/form", "It", "1"), '"broken": 1'),
        )

        def interpret(self, array: ArrayView) -> Interpretation:
            return array.interpretation()

    a = stored([1.0], "x", **declaring({"name": "broken"}, "uom", broken="many", uom=5))
    store: Any = memory_store(build({"": {}, "a": a}))
    with pytest.warns(XGroupPluginWarning, match="'broken'.*failed: .*many"):
        mistakes = zarr_xgroup.check(store).mistakes
    assert "uom/object" in {it.rule.name for it in mistakes}


# A third party's handler tested by itself: one array and a dict.


@pytest.mark.parametrize("dropped", [None, "weight", ["weight"]])
def test_the_same_in_two_groups_with_attributes_that_are_arrays(dropped: Any) -> None:
    @register
    class Weighted(ConventionHandler):
        tier = "service"
        name = "weighted"
        always_the_same: ClassVar[Any] = np.array([0.0, 9.0])

        def get_variables(
            self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
        ) -> dict[str, xr.Variable]:
            return {"weight": xr.Variable("x", [1.0, 2.0], {"range": self.always_the_same})}

    array = stored([1, 2], "x", **declaring({"name": "weighted"}))
    nodes: Nodes = {"": {}, "g": {}, "g/a": array, "h": {}, "h/a": array}
    groups, told = opened(nodes, xr.open_groups, drop_variables=dropped)
    assert told == []
    for path in ("/g", "/h"):
        assert ("weight" in groups[path].coords) == (dropped is None)
    if dropped is None:
        groups["/g"]["weight"].attrs["range"][0] = -1
        assert groups["/h"]["weight"].attrs["range"].tolist() == [0.0, 9.0]


def test_equal_numbers_in_two_groups_keep_their_own_attributes() -> None:
    @register
    class Timed(ConventionHandler):
        tier = "service"
        name = "timed"

        def get_variables(
            self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
        ) -> dict[str, xr.Variable]:
            attributes = {"units": array.attrs["since"], "from": array.path}
            return {"when": xr.Variable("x", [1.0, 2.0], attributes, {"note": array.path})}

    def since(year: int) -> Any:
        declared = declaring({"name": "timed"})
        return stored([1, 2], "x", **declared, since=f"days since {year}-01-01")

    nodes: Nodes = {"": {}, "g": {}, "g/a": since(2000), "h": {}, "h/a": since(1990)}
    groups, told = opened(nodes, xr.open_groups)
    assert told == []
    for path, year in (("g", 2000), ("h", 1990)):
        when = groups[f"/{path}"]["when"]
        assert when.dt.year.values.tolist() == [year, year]
        assert when.attrs == {"from": f"{path}/a"}
        assert when.encoding["note"] == f"{path}/a"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("absent_module:Handler", "ModuleNotFoundError: No module named 'absent_module'"),
        ("json:Handler", "AttributeError: module 'json' has no attribute 'Handler'"),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_told(value: str, reason: str) -> None:
    found, told = build_handlers((CsHandler,), [EntryPoint("odd", value, ENTRY_POINT_GROUP)])
    assert found == (CsHandler,)
    text = f"Convention plug-in odd ({value}) is not used: {reason}"
    assert [str(item) for item in told] == [text]
