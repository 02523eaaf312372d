"""Conventions of third parties: installed, registered and failing handlers, and their results."""

import importlib
import json
import os
import subprocess
import sys
import tomllib
import types
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from msgspec import structs

import zarr_xgroup
from zarr_xgroup import XGroupPluginWarning, XGroupResolutionWarning
from zarr_xgroup.conventions import (
    ENTRY_POINT_GROUP,
    Attribute,
    Computed,
    ConventionHandler,
    Coordinate,
    Crs,
    Interpretation,
    Literal,
    Marks,
    Parsed,
    Regular,
    Stored,
    Topic,
    build_handlers,
    handlers,
    register,
    registry,
)
from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.errors import Rule, XGroupError, XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.tests.builders import (
    Array,
    Nodes,
    declaring,
    needs_writing,
    opened,
    opened_with_warnings,
    quietly,
    recorded,
    stored,
    write_store,
)
from zarr_xgroup.tests.pages import DOCS, blocks_of
from zarr_xgroup.tests.tables import check, rows, store_of
from zarr_xgroup.variables.sources import HandlerVariable, Offset, Unusable

# Installed: in another process, as it is for who uses them.

TICKS = {"uuid": "5A8E9D5C-3C55-4C8A-9D64-1F2F0F2B6F10", "name": "whatever"}
QUALITY = {"schema_url": "https://example.org/a-third-party/quality/main/schema.json"}
DATA = np.arange(6.0).reshape(2, 3)

#: What the packages in `plugins` are for.
SOUND: Nodes = {
    "": {"ticks_unit": "m"},
    "g": {},
    "g/a": stored(
        DATA,
        "y x",
        **declaring(TICKS, QUALITY),
        ticks={"x": {"start": 10, "interval": 5}},
        quality={
            "flags": {"node": "../flags/of_a"},
            "meanings": {"ref": {"node": "/flags", "attribute": "/attributes/meanings"}},
        },
    ),
    "flags": {"meanings": "good bad"},
    "flags/of_a": stored(np.array([[0, 1, 0], [1, 0, 0]], "i2"), "y x", long_name="flags"),
}

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
    "bad_get": (
        "class Handler(Base):\n    tier, name = 'service', 'bad_get'\n"
        "    def get_variables(self, array, group, root):\n        return array.attrs['nothing']"
    ),
}

FAILED = "opened without the parts defined by convention {0!r}: the handler of convention {0!r} ({1}) failed: "
OPEN = """
import json, sys
from zarr_xgroup.tests.tables import outcome
print(json.dumps([outcome(store, group="g", only="coords")[1] for store in sys.argv[1:]]))
"""


def install(folder: Path, name: str, value: str, code: str) -> None:
    """Write a module with an entry point as an installer does."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\n{name} = {value}\n")
    if code:
        (folder / f"{value.partition(':')[0]}.py").write_text(code)


def test_installed_plugins_are_found_and_broken_ones_cause_a_warning_each(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for place in (Path(__file__).parents[1] / "plugins").glob("xgroup_plugin_*"):
        project = tomllib.loads((place / "pyproject.toml").read_text())["project"]
        for name, value in project["entry-points"][ENTRY_POINT_GROUP].items():
            install(site, name, value, (place / f"{place.name}.py").read_text())
    head = "import xarray as xr\nfrom zarr_xgroup.conventions import ConventionHandler as Base\n"
    for name, code in BROKEN.items():
        install(site, name, f"plugin_{name}:Handler", code and f"{head}{code}\n")
    declared = declaring(*({"name": name} for name in ("good", "bad_get")))
    failing: Nodes = {
        "": {},
        "g": {},
        **{f"g/{it}": stored([1, 2, 3], "x", **declared) for it in "ab"},
    }
    stores = [write_store(tmp_path / "sound", SOUND), write_store(tmp_path / "failing", failing)]
    path = os.pathsep.join([str(site), str(Path(str(zarr_xgroup.__file__)).parents[1])])
    command = [sys.executable, "-c", OPEN, *map(str, stores)]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    taken = "already handles the same convention"
    unused = {
        "is_cs": f"zarr_xgroup.conventions.cs {taken}",
        "no_handler": "it is not a subclass of zarr_xgroup.conventions.ConventionHandler",
        "no_module": "ModuleNotFoundError: No module named 'plugin_no_module'",
        "raises_on_import": "RuntimeError: not today",
        "z_duplicate": f"plugin_good {taken}",
    }
    told = [
        f"! Plugin: Convention plug-in {name} (plugin_{name}:Handler) is not used: {reason}"
        for name, reason in unused.items()
    ]
    first, second = json.loads(done.stdout)
    assert first == [
        "quality (y x) int16 [[0 1 0] [1 0 0]] | flag_meanings=good bad long_name=flags",
        "x (x) 10 15 20 | units=m",
        *told,  # once, and not in the next open
    ]
    assert second == [
        "good (x) 7 8 9",
        f"! Resolution: /g/a, /g/b were {FAILED.format('bad_get', 'plugin_bad_get')}KeyError: 'nothing'",
    ]


@pytest.mark.skipif(not DOCS.is_dir(), reason="installed without the documentation")
def test_the_example_package_passes_its_test(tmp_path: Path) -> None:
    example = DOCS / "examples" / "xgroup-stations"
    project = tomllib.loads((example / "pyproject.toml").read_text())["project"]
    ((name, value),) = project["entry-points"][ENTRY_POINT_GROUP].items()
    code = (example / "xgroup_stations.py").read_text()
    install(tmp_path / "site", name, value, code)
    path = os.pathsep.join([str(tmp_path / "site"), str(DOCS.parent)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(example)]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    page = (DOCS / "handlers.md").read_text(encoding="utf-8")
    assert f"```python\n{code}```" in page


# The list of handlers.


def handler(name: str = "it", /, **members: Any) -> type[ConventionHandler]:
    """Return a handler class of a third party, by default of one that finds nothing."""
    defaults: dict[str, Any] = {
        "tier": "service",
        "name": name,
        "get_variables": lambda *_arguments: {},
        "__module__": "third_party",
    }
    return type("Handler", (ConventionHandler,), {**defaults, **members})


def bare(**members: Any) -> type[ConventionHandler]:
    return type("Handler", (ConventionHandler,), members)


def entry_point(monkeypatch: pytest.MonkeyPatch, name: str, value: object) -> EntryPoint:
    """Return an entry point that leads to a value."""
    module = types.ModuleType(f"module_of_{name}")
    module.__dict__["it"] = value
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return EntryPoint(name, f"{module.__name__}:it", ENTRY_POINT_GROUP)


NO_CLASS = "it is not a subclass of zarr_xgroup.conventions.ConventionHandler"
NO_TIER = "its 'tier' is neither 'principal' nor 'service'"
NOTHING = "it has neither 'interpret' nor 'get_variables'"
TAKEN = "zarr_xgroup.conventions.{} already handles the same convention"
NO_HANDLERS: dict[str, tuple[Any, str]] = {
    "a number": (5, NO_CLASS),
    "a function": (len, NO_CLASS),
    "an instance": (UomHandler(), NO_CLASS),
    "the base class": (ConventionHandler, NO_TIER),
    "no tier": (bare(name="it"), NO_TIER),
    "a tier of no such name": (handler(tier="layout"), NO_TIER),
    "no name": (bare(tier="service"), "it has no 'name'"),
    "a name that is not a string": (handler(name=5), "it has no 'name'"),
    "identifiers as a text": (
        handler(identifiers="its"),
        "its 'identifiers' is not a tuple of str",
    ),
    "a priority that is not a number": (handler(priority="1"), "its 'priority' is not an integer"),
    "no attributes": (handler(described=None), "its 'described' is not a tuple of Attribute"),
    "rules as texts": (handler(rules=("it",)), "its 'rules' is not a tuple of Rule"),
    "nothing to say": (bare(tier="service", name="it"), NOTHING),
    "a built-in one": (CsHandler, TAKEN.format("cs")),
    "the name of one": (handler("CS"), TAKEN.format("cs")),
    "the alias of one": (handler("dimensions"), TAKEN.format("coords")),
    "the uuid of one": (handler(uuid=str(CsHandler.uuid).upper()), TAKEN.format("cs")),
}


@rows(NO_HANDLERS, "value, reason")
def test_invalid_handlers_are_reported_and_ignored(
    value: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = [entry_point(monkeypatch, "b", value), entry_point(monkeypatch, "a", handler("ok"))]
    found, told = build_handlers(registry.BUILT_IN, plugins)
    assert [item.name for item in found[len(registry.BUILT_IN) :]] == ["ok"]
    text = f"Convention plug-in b (module_of_b:it) is not used: {reason}"
    assert [(type(item), str(item)) for item in told] == [(XGroupPluginWarning, text)]
    with pytest.raises(TypeError) as raised:
        register(value)  # type: ignore[arg-type]
    assert str(raised.value) == f"{value!r} cannot be registered: {reason}"
    assert registry._REGISTERED == []


def test_plugins_follow_the_built_in_handlers_by_name_and_the_first_of_two_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, same, other = handler("one", uuid="x"), handler("two", uuid="X"), handler("three")
    named = {"b": same, "c": other, "a": first, "d": handler("Three")}
    plugins = [entry_point(monkeypatch, name, value) for name, value in named.items()]
    found, told = build_handlers((CsHandler, UomHandler), plugins)
    assert found == (CsHandler, UomHandler, first, other)
    assert [str(item).partition(" is not")[0] for item in told] == [
        "Convention plug-in b (module_of_b:it)",
        "Convention plug-in d (module_of_d:it)",
    ]


def test_registering_replaces_handlers_with_the_same_name_or_uuid() -> None:
    before = handlers()
    first, other = handler("it", uuid="u"), handler("another")
    for again in (handler("it"), handler("IT"), handler("it_2", uuid="u")):
        for registered in (first, first, other):
            assert register(registered) is registered
        assert handlers() == (*before, first, other)
        register(again)
        assert handlers() == (*before, other, again)
        registry._REGISTERED.clear()


# What handlers give.

IT = declaring({"name": "it"})
X = {"cs": {"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [1, 2]}}]}}}]}}
#: Two arrays that declare the convention of a third party, and one that does not.
DECLARING: Nodes = {
    "": {},
    "a": stored(DATA, "y x", **declaring({"name": "it"}, "cs"), **X),
    "b": stored([1, 2, 3], "x", **IT, **{"proj:code": "EPSG:32632"}),
    "y": stored([5, 6], "y"),
    "bands": stored(np.arange(12).reshape(2, 2, 3), "band y x"),
}


def gives(variables: Any, **members: Any) -> dict[str, Any]:
    """Return the members of a handler that gives the same variables of each array."""
    return {"get_variables": lambda *_arguments: variables, **members}


def along_x(name: str, values: Any = (7, 8, 9), **members: Any) -> dict[str, Any]:
    return gives({name: xr.Variable("x", list(values), {"mine": 1})}, **members)


GIVEN: dict[str, tuple[dict[str, Any], str]] = {
    "equal numbers of two arrays are one coordinate": (along_x("q"), """
        q (x) 7 8 9 | mine=1
        spatial_ref () EPSG:32632
        x (x) 1 3 5
        y (y) 5 6
        """),
    "a dimension coordinate in addition to that of a built-in convention": (along_x("x"), """
        spatial_ref () EPSG:32632
        x (x) 1 3 5
        x_1 (x) 7 8 9 | mine=1
        x_b (x_b) 7 8 9 | mine=1
        y (y) 5 6
        ! Dimension: /b: other arrays of the group have different coordinate values along its dimensions; renamed 'x' -> 'x_b'
        ! Name: /a: its coordinate 'x' is named 'x_1', because the name 'x' is already used or not valid in this group
        """),
    "a length that is not the dimension's": (along_x("q", (7, 8, 9, 10)), """
        q (x_q) 7 8 9 10 | mine=1
        spatial_ref () EPSG:32632
        x (x) 1 3 5
        y (y) 5 6
        ! Dimension: /a: dimensions of its coordinate 'q' have a different size in this group; renamed 'x' -> 'x_q'
        """),
    "a principal convention after a built-in one": (along_x("q", tier="principal"), """
        q (x) 7 8 9 | mine=1
        spatial_ref () EPSG:32632
        x (x) 1 3 5
        y (y) 5 6
        """),
    "a convention without coordinates": (gives({}), """
        spatial_ref () EPSG:32632
        x (x) 1 3 5
        y (y) 5 6
        """),
}  # fmt: skip


@rows(GIVEN, "members, expected")
def test_results_of_handlers(members: dict[str, Any], expected: str) -> None:
    register(handler(**members))
    dataset = check(DECLARING, expected, only="coords")
    assert set(dataset.data_vars) == {"a", "b", "bands"}


@needs_writing
@pytest.mark.parametrize("length", [None, 3], ids=["as long as the array", "of one length"])
def test_a_subset_that_was_written_again_keeps_its_own_coordinates(
    length: int | None, tmp_path: Path
) -> None:
    def get_variables(_self: Any, array: Any, _group: Any, _root: Any) -> dict[str, xr.Variable]:
        values = np.arange(length or array.shape[0], dtype=float)
        return {"x": xr.Variable("x", values), "height": xr.Variable((), 5.0)}

    register(handler(get_variables=get_variables))
    nodes: Nodes = {"": {}, "a": stored([1.0, 2.0, 3.0], "x", **IT)}
    subset = opened(xr.open_dataset, store_of(nodes)).isel(x=slice(1, 3))
    subset.to_zarr(tmp_path / "subset.zarr", consolidated=False)
    again = opened(xr.open_dataset, tmp_path / "subset.zarr")
    assert {*again.variables} == {"a", "x", "height"}
    assert again.x.values.tolist() == [1.0, 2.0]


# What fails.


def fails(error: BaseException, place: str = "get_variables") -> dict[str, Any]:
    def fail(*_arguments: Any) -> Any:
        raise error

    return {place: staticmethod(fail) if place == "detect" else fail}


def refers(reference: Any, method: str = "variable") -> dict[str, Any]:
    """Return the members of a handler that follows a reference."""

    def get_variables(self: ConventionHandler, *_arguments: Any) -> dict[str, xr.Variable]:
        return {"q": getattr(self.resolver, method)(reference)}

    return {"get_variables": get_variables}


ALL = "/a, /b, /bands, /y were"
NO_DICT = "TypeError: 'get_variables' must return a dict of xarray.Variable by name, got "
NO_ANSWER = "TypeError: 'interpret' must return an Interpretation (see array.interpretation), got "
NO_REFERENCE = (
    'XGroupReferenceError: a reference must be a mapping such as {"node": "../time"}, got '
)
VARIABLE = xr.Variable("x", [1.0, 2.0, 3.0])
FAILING: dict[str, tuple[dict[str, Any], str, str]] = {
    "detect": (fails(KeyError("k"), "detect"), ALL, "KeyError: 'k'"),
    "detect, by an error of ours": (fails(XGroupError("r"), "detect"), ALL, "XGroupError: r"),
    "making it": (fails(RuntimeError("{braces} %s"), "__init__"), "", "RuntimeError: {braces} %s"),
    "giving variables": (fails(StopIteration("s")), "", "StopIteration: s"),
    "too deep": (fails(RecursionError()), "", "RecursionError: "),
    "a warning": (fails(UserWarning("w")), "", "UserWarning: w"),
    "no variables": (gives(None), "", f"{NO_DICT}NoneType"),
    "no interpretation": ({"interpret": lambda *_arguments: {}}, "", f"{NO_ANSWER}dict"),
    "a text as reference": (refers("x"), "", f"{NO_REFERENCE}'x'"),
    "no reference": (refers(None, "value"), "", f"{NO_REFERENCE}None"),
}  # fmt: skip


@rows(FAILING, "members, arrays, text")
def test_a_failing_handler_causes_one_warning_and_loses_its_variables(
    members: dict[str, Any], arrays: str, text: str
) -> None:
    register(handler(**members))
    dataset, told = opened_with_warnings(xr.open_dataset, store_of(DECLARING))
    assert {*dataset.variables} - {"spatial_ref"} == {"a", "b", "bands", "x", "y"}
    assert dataset["x"].values.tolist() == [1, 3, 5]
    assert [str(it) for it in told] == [
        f"{arrays or '/a, /b were'} {FAILED.format('it', 'third_party')}{text}"
    ]


LITERAL = Literal(np.array([7.0, 8.0, 9.0]), ("x",))
LINE: Any = Regular(1.0, 1.0)
RULE = Rule("it/rule", "It", "1")
FINDING = Finding(RULE, Place("/a"), "is wrong", topic=Topic.CHOICE)


def computed(function: Any = LINE, name: Any = "q", **changed: Any) -> Coordinate:
    """Return a coordinate whose source, or parts of it, are not valid."""
    source = {"shape": (3,), "dtype": "float64", "along": ("x",), **changed}
    return Coordinate(name, Computed(function, **source))


def late(position: Any) -> Any:
    """Raise an error for all positions except the first."""
    if np.max(position) > 0:
        raise ZeroDivisionError
    return position


def mistyped(**fields: Any) -> Any:
    """Return a coordinate with fields that are not valid."""
    return structs.replace(Coordinate("q", LITERAL), **fields)


def finding(**fields: Any) -> dict[str, Any]:
    """Return a field `findings` with a finding whose fields are not valid."""
    return {"findings": (structs.replace(FINDING, **fields),)}


#: A coordinate, or fields of an interpretation, that a handler returns -> why that part alone is left out.
MISTYPED: dict[str, tuple[Any, str]] = {
    "a step that is a text": (computed(Regular(0.0, "six")), "TypeError: coordinate.source.function.step must be float, got str"),  # type: ignore[arg-type]
    "a function that is a number": (computed(5), "TypeError: 'int' object is not callable"),
    "a function that raises": (computed(lambda _position: 1 / 0), "ZeroDivisionError: division by zero"),
    "a list as shape": (computed(shape=[3]), "TypeError: coordinate.source.shape must be tuple, got list"),
    "a shape of texts": (computed(shape=("3",)), "TypeError: coordinate.source.shape[0] must be int, got str"),
    "a shape of fewer axes": (computed(shape=()), "ValueError: coordinate.source has the shape [] and the dimensions ['x']"),
    "a negative size": (computed(shape=(-3,)), "ValueError: coordinate.source has the shape [-3] and the dimensions ['x']"),
    "an unknown type": (computed(dtype="nope"), "TypeError: data type 'nope' not understood"),
    "a list as dimensions": (computed(along=["x"]), "TypeError: coordinate.source.along must be tuple, got list"),
    "a text as dimensions": (computed(along="x"), "TypeError: coordinate.source.along must be tuple, got str"),
    "a number as dimension": (computed(along=(5,)), "TypeError: coordinate.source.along[0] must be str, got int"),
    "a mapping as chunks": (computed(chunks={"x": 3}), "TypeError: coordinate.source.chunks must be tuple, got dict"),
    "a path as array": (computed(arrays=("/x",)), "TypeError: coordinate.source.arrays[0] must be Stored, got str"),
    "a path as source": (mistyped(source="/x"), "TypeError: coordinate.source must be Stored | Computed | Literal | Offset | HandlerVariable | Unusable, got str"),
    "a path as node": (mistyped(source=Stored("/x", ("x",))), "TypeError: coordinate.source.node must be Node, got str"),  # type: ignore[arg-type]
    "values of fewer axes": (mistyped(source=Literal(np.zeros(3), ())), "ValueError: coordinate.source has the shape [3] and the dimensions []"),
    "an offset that is a text": (mistyped(source=Offset(LITERAL, "a", 1.0, "side")), "TypeError: coordinate.source.below must be float, got str"),  # type: ignore[arg-type]
    "an array as variable": (mistyped(source=HandlerVariable(np.zeros(3), 1)), "TypeError: coordinate.source.variable must be Variable, got ndarray"),
    "a text as finding": (mistyped(source=Unusable("no", None)), "TypeError: coordinate.source.finding must be Finding, got str"),  # type: ignore[arg-type]
    "a list as attributes": (mistyped(attributes=["a"]), "TypeError: coordinate.attributes must be Mapping, got list"),
    "a number as key": (mistyped(attributes={5: 1}), "TypeError: a key of coordinate.attributes must be str, got int"),
    "a set as attribute": (mistyped(attributes={"a": [{1}]}), "TypeError: coordinate.attributes['a'] must be JSON, got set"),
    "a text as bounds": (mistyped(bounds="b"), "TypeError: coordinate.bounds must be Coordinate | None, got str"),
    "bounds that cannot be computed": (mistyped(bounds=computed(5)), "TypeError: 'int' object is not callable"),
    "a list of terms": (mistyped(formula_terms=["a"]), "TypeError: coordinate.formula_terms must be Mapping, got list"),
    "a number as term": (mistyped(formula_terms={"a": 5}), "TypeError: coordinate.formula_terms['a'] must be Coordinate, got int"),
    "a text as CRS": (mistyped(crs="EPSG:4326"), "TypeError: coordinate.crs must be Crs | None, got str"),
    "a number as CRS": (mistyped(crs=Crs("proj:code", 4326)), "TypeError: coordinate.crs.text must be str, got int"),  # type: ignore[arg-type]
    "a list of links": (mistyped(links=[5]), "TypeError: coordinate.links must be tuple, got list"),
    "a number as axis": (mistyped(axis=5), "TypeError: coordinate.axis must be str, got int"),
    "a text as flag": (mistyped(places_cells="no"), "TypeError: coordinate.places_cells must be bool, got str"),
    "a coordinate without a name": (mistyped(name=None), "'coordinate': TypeError: coordinate.name must be str, got NoneType"),
    "a variable as coordinate": (VARIABLE, "'coordinate': TypeError: coordinate must be Coordinate, got Variable"),
    "a text as CRS of the array": ({"crs": "EPSG:4326"}, "'crs': TypeError: crs must be Crs | None, got str"),
    "a tuple as transform": ({"geotransform": (1, 2)}, "'geotransform': TypeError: geotransform must be str | None, got tuple"),
    "an object as attribute": ({"attributes": {"a": RULE}}, "'attributes': TypeError: attributes['a'] must be JSON, got Rule"),
    "a path as referred node": ({"referred": {"/x"}}, "'referred': TypeError: referred must be Node, got str"),
    "a number as links": ({"links": 5}, "'link': TypeError: link must be Link, got int"),
    "a number as reference": ({"references": (5,)}, "'reference': TypeError: reference must be Followed, got int"),
    "findings that are texts": ({"findings": ("wrong",)}, "'finding': TypeError: finding must be Finding, got str"),
    "no findings": ({"findings": None}, "'finding': TypeError: finding must be Finding, got NoneType"),
    "a number as text of a finding": (finding(text=5), "'finding': TypeError: finding.text must be str, got int"),
    "a path as place of a finding": (finding(place="/a"), "'finding': TypeError: finding.place must be Place, got str"),
    "an unknown severity": (finding(severity="fatal"), "'finding': TypeError: finding.severity must be 'error' | 'warning', got str"),
    "a different error": (finding(error=ValueError()), "'finding': TypeError: finding.error must be XGroupError | None, got ValueError"),
}  # fmt: skip


def interpreting(returned: Any) -> dict[str, Any]:
    """Return the members of a handler that returns a sound coordinate, and a coordinate or fields."""

    def interpret(_self: Any, array: Any) -> Interpretation:
        if isinstance(returned, dict):
            fields = {"coordinates": (Coordinate("good", LITERAL),), **returned}
            return Interpretation(**fields)
        result: Interpretation = array.interpretation(Coordinate("good", LITERAL), returned)
        return result

    return {"interpret": interpret}


IDENTIFIED = "1c2d3e4f-0000-4000-8000-000000000002"
DECLARED = declaring({"name": "it", "uuid": IDENTIFIED})
OF_IT: Nodes = {
    "": {},
    "a": stored(DATA, "y x", **DECLARED),
    "b": stored([1, 2, 3], "x", **DECLARED),
    "y": stored([5, 6], "y"),
}


def assert_lost(members: dict[str, Any], text: str, **options: Any) -> None:
    """Assert that only one part of a handler's results is missing, with one warning, in opening and in reports."""
    register(handler(uuid=IDENTIFIED, **members))
    part, _colon, reason = text.rpartition("': ")
    lost = f"the {part}' given by convention 'it'" if part else "coordinate 'q'"
    failed = f"the handler of convention 'it' (third_party) failed: {reason}"
    store: Any = store_of(OF_IT)
    for function in (xr.open_dataset, xr.open_datatree):
        opened, told = opened_with_warnings(function, store, **options)
        assert opened["good"].values.tolist() == [7, 8, 9]
        assert "q" not in opened.variables
        assert [str(it) for it in told] == [f"/a, /b were opened without {lost}: {failed}"]
    problems = zarr_xgroup.explain(store).problems
    assert [(it.lost, it.text) for it in problems if it.lost] == [(lost, failed)]
    assert f"{failed}; missing: {lost}" in {it.text for it in zarr_xgroup.check(store).mistakes}


@rows(MISTYPED, "returned, text")
def test_a_result_that_is_not_valid_is_missing_alone(returned: Any, text: str) -> None:
    assert_lost(interpreting(returned), text)
    assert_lost(interpreting(returned), text, convention_attrs="drop")


#: A variable that a handler gives in addition -> why it alone is left out.
GIVEN_WRONGLY: dict[str, tuple[dict[Any, Any], str]] = {
    "a number": ({"q": 5}, "TypeError: coordinate.source.variable must be Variable, got int"),
    "a DataArray": ({"q": xr.DataArray(VARIABLE)}, "TypeError: coordinate.source.variable must be Variable, got DataArray"),
    "a number as name": ({5: VARIABLE}, "'coordinate': TypeError: coordinate.name must be str, got int"),
    "a number as dimension": ({"q": xr.Variable((5,), [1, 2, 3])}, "TypeError: coordinate.source.variable.dims[0] must be str, got int"),
    "an object as attribute": ({"q": xr.Variable("x", [1, 2, 3], {"a": object()})}, "TypeError: coordinate.source.variable.attrs['a'] must be JSON, got object"),
}  # fmt: skip


@rows(GIVEN_WRONGLY, "variables, text")
def test_a_variable_that_is_not_valid_is_missing_alone(variables: Any, text: str) -> None:
    assert_lost(gives({"good": xr.Variable("x", [7.0, 8.0, 9.0]), **variables}), text)


#: What a handler does with the array that it interprets -> why that part is left out.
DONE_WRONGLY: dict[str, tuple[Any, str]] = {
    "a number as cost": (lambda it: it.report(Topic.PROBLEM, it.node, "no", cost=5), "'finding': TypeError: finding.cost must be str, got int"),
    "a number as text": (lambda it: it.report(Topic.PROBLEM, it.node, 5), "'finding': TypeError: finding.text must be str, got int"),
    "a path as referred node": (lambda it: it.referred.add("/x"), "'referred': TypeError: referred must be Node, got str"),
}  # fmt: skip


@rows(DONE_WRONGLY, "act, text")
def test_a_report_that_is_not_valid_is_missing_alone(act: Any, text: str) -> None:
    def interpret(_self: Any, array: Any) -> Interpretation:
        act(array)
        result: Interpretation = array.interpretation(Coordinate("good", LITERAL))
        return result

    assert_lost({"interpret": interpret}, text)


def test_numbers_of_numpy_are_valid() -> None:
    first: Any = np.int64(7)
    step: Any = np.float32(1)
    sizes = tuple(np.array([3]))
    attributes = {"a": np.float32(1.5), "b": np.arange(2)}
    coordinate = structs.replace(computed(Regular(first, step), shape=sizes), attributes=attributes)
    register(handler(**interpreting(coordinate)))
    dataset = opened(xr.open_dataset, store_of(DECLARING))
    assert dataset["q"].values.tolist() == [7, 8, 9]
    assert dataset["q"].attrs["a"] == 1.5


def test_a_coordinate_whose_index_cannot_be_computed_is_left_out() -> None:
    register(handler(**interpreting(computed(late, name="z", along=("z",)))))
    nodes: Nodes = {"": {}, "a": stored([1.0, 2.0, 3.0], "z", **IT)}
    dataset, told = opened_with_warnings(xr.open_dataset, store_of(nodes))
    assert set(dataset.variables) == {"a", "good"}
    assert str(told[-1]).startswith("/a: its coordinate 'z': left out: ZeroDivisionError")


#: The other results of a handler -> why the handler is ignored.
OTHERS: dict[str, tuple[str, Any, str]] = {
    "a text as CRS": ("crs", "EPSG:4326", "TypeError: crs must be Crs, got str"),
    "a number as code": ("crs", Crs("proj:code", 4326), "TypeError: crs.text must be str, got int"),  # type: ignore[arg-type]
    "a text as names": ("axis_names", "yx", "TypeError: 'yx'"),
    "a tuple as marks": ("marks", ("x",), "TypeError: marks must be Marks, got tuple"),
    "a number as dimension": ("marks", Marks((5,)), "TypeError: marks.dims[0] must be str, got int"),  # type: ignore[arg-type]
}  # fmt: skip


@rows(OTHERS, "method, returned, text")
def test_other_results_of_a_handler_that_are_not_valid(
    method: str, returned: Any, text: str
) -> None:
    function = lambda *_arguments: returned
    is_static = method != "axis_names"
    register(
        handler(tier="principal", **{method: staticmethod(function) if is_static else function})
    )
    named = None if method == "axis_names" else ("y", "x")
    nodes: Nodes = {"": {}, "a": Array(DATA, named, IT if method == "crs" else {})}
    told = recorded(xr.open_dataset, store_of(nodes), engine="xgroup")[1]
    assert any(text in str(it) for it in told)
    for report in (zarr_xgroup.explain, zarr_xgroup.check):
        assert repr(quietly(report, store_of(nodes)))


class OwnError(XGroupError):
    """An error of a third party that is made in its own way."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} and {other}", reason="its own")
        self.parts = one, other

    def __reduce__(self) -> Any:
        return type(self), self.parts  # errors that cannot be pickled are replaced


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (XGroupReferenceError("text", reason="why", target="t"), XGroupReferenceError, "why"),
        (XGroupReferenceError("text"), XGroupReferenceError, "text"),
        (OwnError("one", "two"), XGroupError, "its own"),
        (KeyError("k"), XGroupMetadataError, "'k'"),
    ],
    ids=repr,
)
def test_the_error_of_a_handler_is_kept_with_its_reason(
    error: Exception, kind: type[XGroupError], reason: str
) -> None:
    register(handler(**fails(error)))
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, store_of(DECLARING))
    assert type(warning) is XGroupResolutionWarning
    found = warning.error
    assert type(found) is kind
    assert (found.reason, found.target) == (reason, getattr(error, "target", ""))
    assert found.__cause__ is error


def test_a_handler_that_fails_in_axis_names_causes_one_warning() -> None:
    register(handler(axis_names=fails(KeyError("k"))["get_variables"]))
    store: Any = store_of({"": {}, "a": Array(DATA)})
    _dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    failure = "the handler of convention 'it' (third_party) failed: KeyError: 'k'"
    assert sum(failure in str(it) for it in told) == 1


@pytest.mark.parametrize("is_auto", [False, True])
def test_a_handler_that_fails_in_marks_causes_one_warning(is_auto: bool) -> None:
    applies = classmethod(lambda _cls, _array: False)
    marks: Any = classmethod(fails(KeyError("k"))["get_variables"])
    register(handler(tier="principal", applies=applies, marks=marks))
    store: Any = store_of({"": {}, "a": stored(DATA, "y x")})
    assumed = "auto" if is_auto else None
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup", assume_conventions=assumed)
    assert dataset["a"].shape == (2, 3)
    failure = "the handler of convention 'it' (third_party) failed: KeyError: 'k'"
    assert len({str(it) for it in told if failure in str(it)}) == 1


def whole_number(value: Any) -> int:
    return int(value.value)


BY_RULE = Attribute("it", Parsed(whole_number), Rule("it/form", "It", "1"), '"it": 1')


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        (
            {"check": classmethod(lambda _cls, _subject: "x")},
            "TypeError: a finding must be Finding, got str",
        ),
        (
            {"check": classmethod(lambda _cls, _subject: finding(text=5)["findings"])},
            "TypeError: a finding.text must be str, got int",
        ),
        ({"described": (BY_RULE,)}, "'many'"),
    ],
    ids=["what it finds", "the text of what it finds", "its description"],
)
def test_a_handler_that_fails_to_check_is_reported_and_others_check(
    members: dict[str, Any], reason: str
) -> None:
    register(handler(**members))
    a: Any = stored([1.0], "x", **declaring({"name": "it"}, "uom", it="many", uom=5))
    with pytest.warns(XGroupPluginWarning, match=rf"\(third_party\) failed: .*{reason}"):
        mistakes = zarr_xgroup.check(store_of({"": {}, "a": a})).mistakes
    assert "uom/object" in {it.rule.name for it in mistakes}


# A convention is one module and one line.

MOORING = declaring({"uuid": "b4d1ad1e-7d0c-4b6f-9a53-0f6ad7e1c2f8", "name": "mooring"})


@pytest.mark.parametrize("line", ["an entry point", "BUILT_IN"])
def test_the_convention_of_the_guide_is_opened_and_checked(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "handlers.md").read_text(encoding="utf-8")
    (module,) = (it.text for it in blocks_of(page) if "class MooringHandler" in it.text)
    (tmp_path / "moorings.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "moorings", raising=False)
    if line == "BUILT_IN":
        mooring = importlib.import_module("moorings").MooringHandler
        monkeypatch.setattr(registry, "BUILT_IN", (*registry.BUILT_IN, mooring))
    else:
        point = EntryPoint("mooring", "moorings:MooringHandler", ENTRY_POINT_GROUP)
        monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    monkeypatch.setattr(registry, "_installed", registry._installed.__wrapped__)

    def moored(**moorings: Any) -> Nodes:
        arrays = {
            name: stored(DATA, "time depth", **MOORING, mooring=it) for name, it in moorings.items()
        }
        return {"": {}, **arrays}

    right = {"top": 10, "spacing": 5, "unit": "km"}
    check(
        moored(salinity=right),
        "depth (depth) 10.0 15.0 20.0 | axis=Z positive=down units=km",
        only="coords",
    )
    store: Any = store_of(moored(salinity=right))
    assert zarr_xgroup.check(store).is_clean
    explanation: Any = zarr_xgroup.explain(store).to_dict()
    (array,) = explanation["groups"][0]["arrays"]
    assert [it["name"] for it in array["conventions"]] == ["mooring"]

    wrong = moored(a=right, b={"top": "surface", "spacings": 5, "unit": "feet"})
    _dataset, told = opened_with_warnings(xr.open_dataset, store_of(wrong))
    assert [str(it).partition(":")[0] for it in told] == ["/b was opened without the depths"] * 2
    found: Any = zarr_xgroup.check(store_of(wrong)).mistakes
    assert {(str(it.place), it.rule.name, it.remedy) for it in found} == {
        ("/b#/attributes/mooring/top", "mooring/form", 'write, for example, "top": 10'),
        ("/b#/attributes/mooring/spacings", "mooring/form", 'rename it to "spacing"'),
        ("/b#/attributes/mooring/unit", "mooring/unit", "write one of m, km"),
    }
