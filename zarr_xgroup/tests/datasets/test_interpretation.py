"""Whom an array's interpretation holds for, and which conventions are asked for it."""

import re
from typing import Any, ClassVar, Literal

import numpy as np
import pyproj
import pytest
import xarray as xr

from zarr_xgroup import explain
from zarr_xgroup.conventions import (
    ArrayView,
    ConventionHandler,
    Crs,
    Interpretation,
    register,
    registry,
)
from zarr_xgroup.findings import Topic, report
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    coordinate,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
)


def test_arrays_that_differ_in_nothing_but_what_they_declare() -> None:
    uom = {"uom": {"ucum": {"unit": "kg"}}}
    members = {
        "a": Array(np.ones(3), ("x",), declaring("uom", **uom)),
        "b": Array(np.ones(3), ("x",), uom),
    }
    dataset = opened(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["a"].attrs["units"] == "kg"
    assert "units" not in dataset["b"].attrs


def test_of_two_principal_conventions_one_is_asked() -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    attributes = declaring("cs", "spatial", cs={"crs": [{"axes": axes}]})
    attributes |= {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    store = memory_store(build(Group({"a": Array(np.ones((2, 2)), ("y", "x"), attributes)})))
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    assert dataset["x"].values.tolist() == [3.0, 4.0]
    assert "y" not in dataset.coords
    assert len(told) == 1
    assert "spatial" in str(told[0])


def test_arrays_of_which_one_refers_to_itself() -> None:
    flagged = Array(np.ones(3), ("x",), declaring("CF", ancillary_variables="/b"))
    dataset = opened(xr.open_dataset, memory_store(build(Group(dict.fromkeys("abc", flagged)))))
    named = {name: dataset[name].attrs["ancillary_variables"] for name in "abc"}
    assert named == {"a": "b", "b": "/b", "c": "b"}


def test_groups_of_which_one_has_a_crs_of_its_own() -> None:
    attributes = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, 1, 0]}
    attributes |= declaring("spatial", "proj", **{"proj:code": "EPSG:3857"})
    grid = Array(np.ones((2, 2)), ("y", "x"), attributes)
    own = Array(0, (), {"crs_wkt": pyproj.CRS("EPSG:4326").to_wkt()})
    groups = {"p": Group({"a": grid}), "q": Group({"a": grid, "spatial_ref": own})}
    found, told = opened_with_warnings(xr.open_groups, memory_store(build(Group(groups))))
    names = {path: found[path].x.attrs["standard_name"] for path in ("/p", "/q")}
    assert names == {"/p": "projection_x_coordinate", "/q": "longitude"}
    assert told == []


def test_what_a_group_says_is_not_of_the_groups_below() -> None:
    array = Array(np.ones((2, 2)), ("y", "x"), declaring("proj"))
    says = {"proj:code": "EPSG:4326"}
    for order in ("pq", "qp"):
        groups = {order[0]: Group({"a": array}, says), order[1]: Group({"a": array})}
        found = opened(xr.open_groups, memory_store(build(Group(groups))))
        assert "spatial_ref" in found[f"/{order[0]}"].coords
        assert "spatial_ref" not in found[f"/{order[1]}"].coords
    nested = Group({"p": Group({"a": array, "q": Group({"a": array})}, says)})
    found = opened(xr.open_groups, memory_store(build(nested)))
    assert "spatial_ref" in found["/p"].coords
    assert "spatial_ref" not in found["/p/q"].coords


@pytest.mark.parametrize("place", ["array", "group"])
def test_cf_that_is_declared_goes_before_what_is_assumed(place: str) -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    attributes = {"cs": {"crs": [{"axes": axes}]}}
    declared = declaring("CF")
    array = Array(np.ones(2), ("x",), attributes | (declared if place == "array" else {}))
    group = Group({"a": array}, declared if place == "group" else {})
    store = memory_store(build(Group({"x": Array([1.0, 2.0], ("x",)), "g": group})))
    dataset = opened(xr.open_dataset, store, group="g", assume_conventions=["cs", "cf"])
    assert dataset["x"].values.tolist() == [1.0, 2.0]


CF = declaring("CF")
TURNED = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1, 1, 0, -1, 1, 0]}
TURNED |= declaring("spatial")
X_AXIS = {"x": {"coordinates": [{"values": {"regular": [5, 1]}}]}}
ALONG_X = declaring("cs", cs={"crs": [{"axes": X_AXIS}]})


def test_arrays_whose_dimensions_of_one_name_are_defined_by_two_groups() -> None:
    def along(path: str) -> Array:
        return Array([1.0, 2.0], ("x",), CF, v2={"_NCZARR_ARRAY": {"dimrefs": [path]}})

    root: dict[str, Array | Group] = {
        "a": along("/g/x"),
        "b": along("/h/x"),
        "g": Group({"x": coordinate("x", [10.0, 20.0])}),
        "h": Group({"x": coordinate("x", [30.0, 40.0])}),
    }
    dataset = quietly(xr.open_dataset, memory_store(build(Group(root), 2)), engine="xgroup")
    found = {name: [it.values.tolist() for it in dataset[name].coords.values()] for name in "ab"}
    assert found == {"a": [[10.0, 20.0]], "b": [[30.0, 40.0]]}


@pytest.mark.parametrize("other", ["c", "aa"])
def test_an_array_that_calls_its_dimension_as_that_of_another_one_is_renamed(other: str) -> None:
    members = {
        "a": Array([1.0, 2.0], ("x",)),
        "b": Array([1.0, 2.0, 3.0], ("x",), ALONG_X),
        other: Array([1.0, 2.0, 3.0], ("x_b",), ALONG_X),
    }
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["b"].dims == dataset[other].dims == ("x_b",)
    assert dataset["x_b"].values.tolist() == [5, 6, 7]
    assert "x" not in dataset.coords  # regular values are those of a dimension
    assert [warning.paths for warning in told] == [("/b",), (f"/{other}",)]


@pytest.mark.parametrize("assets", ["b c", "c", "g/b g/c", "g/b g", "g/c g", "g/c"])
def test_an_item_of_a_layout_is_about_the_array_that_it_names(assets: str) -> None:
    origins = {asset: 10 * place for place, asset in enumerate(assets.split(), start=1)}
    items = [
        {"asset": asset, "spatial:transform": [1, 0, origin, 0, 1, 0]}
        for asset, origin in origins.items()
    ]
    attributes = declaring("spatial", multiscales={"layout": items})
    dims = {"spatial:dimensions": ["y", "x"]}
    grids: dict[str, Array | Group] = dict.fromkeys("abcd", Array(np.ones((2, 2)), ("y", "x")))
    group = "g" if "g" in assets else ""
    root = Group({"g": Group(grids, dims)} if group else grids, attributes | dims)
    dataset = quietly(xr.open_dataset, memory_store(build(root)), engine="xgroup", group=group)
    for name in grids:
        origin = origins.get(f"{group}/{name}".strip("/"), origins.get(group))
        found = [float(it[0]) for it in dataset[name].coords.values() if it.attrs["axis"] == "X"]
        assert origin is None or found == [origin + 0.5]


# Handlers of third parties: when they are asked, and for which arrays their answers hold.


class Plugin(ConventionHandler):
    """Says by an attribute which array it was asked about."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "it"

    def interpret(self, array: ArrayView) -> Interpretation:
        return array.interpretation(attributes={"asked": str(array.node)})


IT = declaring({"name": "it"})


def asked(root: Group, handler: type[ConventionHandler], **options: Any) -> dict[str, Any]:
    """Return which array the handler was asked about in place of each one, as far as it was."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_REGISTERED", [handler])
        found = quietly(xr.open_groups, memory_store(build(root)), engine="xgroup", **options)
    return {
        f"{path.rstrip('/')}/{name}": array.attrs.get("asked")
        for path, dataset in found.items()
        for name, array in dataset.data_vars.items()
    }


@pytest.mark.parametrize("attribute", ["it:mode", "mode"])
def test_what_begins_with_the_name_of_a_convention_may_declare_it(attribute: str) -> None:
    arrays = {"a": Array([1.0, 2.0], ("x",)), "b": Array([1.0, 2.0], ("x",), {attribute: 1})}
    for names in ("ab", "ba"):
        group = Group(dict(zip(names, arrays.values(), strict=True)))
        found = asked(Group({"g": group}, IT), Plugin)
        declaring_it = f"/g/{names[1]}" if attribute == "it:mode" else None
        assert found == {f"/g/{names[0]}": None, f"/g/{names[1]}": declaring_it}


class Detecting(Plugin):
    """Applies to what is called so, wherever it is, and is asked once for each array."""

    calls: ClassVar[list[str]] = []
    applying: ClassVar[str] = ""

    @classmethod
    def detect(cls, root: Any, group: Any, array: Any) -> bool:
        cls.calls.append(f"/{array.path}")
        return bool(re.fullmatch(cls.applying, array.path))


@pytest.mark.parametrize("applying", ["g/a", "g/b", "h/b", "./b", ".*"])
def test_a_handler_that_detects_is_asked_for_each_array(
    applying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Detecting, "applying", applying)
    monkeypatch.setattr(Detecting, "calls", [])
    group = Group(dict.fromkeys("ab", Array([1.0, 2.0], ("x",))))
    paths = ["/g/a", "/g/b", "/h/a", "/h/b"]
    found = asked(Group({"g": group, "h": group}), Detecting)
    assert found == {it: it if re.fullmatch(f"/{applying}", it) else None for it in paths}
    assert sorted(Detecting.calls) == paths


class Deciding(Plugin):
    """Fails to tell whether it applies to one of the arrays."""

    @classmethod
    def detect(cls, root: Any, group: Any, array: Any) -> bool:
        if array.path == "b":
            raise ValueError(array.path)
        return False


def test_a_handler_that_fails_for_one_of_two_arrays_is_told() -> None:
    register(Deciding)
    root = Group(dict.fromkeys("abc", Array([1.0, 2.0], ("x",))))
    _dataset, (told,) = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    assert told.paths == ("/b",)


class Principal(Plugin):
    tier = "principal"


def test_a_principal_convention_of_a_third_party_goes_before_cf() -> None:
    arrays = {
        "a": Array([1.0, 2.0], ("x",), declaring("CF", {"name": "it"})),
        "b": Array([1.0, 2.0], ("x",), declaring("CF", "cs", {"name": "it"})),
        "c": Array([1.0, 2.0], ("x",), declaring("CF")),
    }
    assert asked(Group(arrays), Principal) == {"/a": "/a", "/b": None, "/c": None}


@pytest.mark.parametrize("first", ["cs", "spatial"])
def test_cf_is_no_rival_of_a_principal_convention(first: str) -> None:
    attributes = {**ALONG_X, **TURNED, **declaring("CF", first)}
    root = Group({"a": Array(np.ones((2, 2)), ("y", "x"), attributes)})
    dataset = opened(xr.open_dataset, memory_store(build(root)))
    assert set(dataset.coords) == ({"x"} if first == "cs" else {"xc", "yc"})


TRANSFORM = "0.0 1.0 0.0 0.0 0.0 1.0"


class Describing(Plugin):
    """Says what others say too, and what is wrong by itself."""

    def interpret(self, array: ArrayView) -> Interpretation:
        return Interpretation(
            geotransform=TRANSFORM,
            crs=Crs("proj:code", "EPSG:3857"),
            attributes={"units": "m", "said": 1},
            findings=(report(Topic.CHOICE, array.node, "it is said"),),
        )


def test_what_two_conventions_say_of_an_array() -> None:
    register(Describing)
    uom = {"uom": {"ucum": {"unit": "kg"}}}
    root = Group(
        {
            "a": Array(np.ones((2, 2)), ("y", "x"), declaring("uom", {"name": "it"}, **uom)),
            "b": Array(np.ones((2, 2)), ("y", "x"), declaring({"name": "it"})),
        }
    )
    dataset, (told,) = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    assert str(told) == "/a, /b: it is said"
    assert [dataset[name].attrs["units"] for name in "ab"] == ["kg", "m"]
    assert [dataset[name].attrs["said"] for name in "ab"] == [1, 1]
    assert dataset["spatial_ref"].attrs["GeoTransform"] == TRANSFORM
    assert "Pseudo-Mercator" in dataset["spatial_ref"].attrs["crs_wkt"]


def test_an_array_that_follows_a_built_in_convention_has_the_crs_that_it_names() -> None:
    code = {"proj:code": "EPSG:3857"}
    for declared, has_crs in ((["uom"], True), (["CF"], True), ([{"name": "it"}], False)):
        field = Array(np.ones((2, 2)), ("y", "x"), declaring(*declared, **code))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(registry, "_REGISTERED", [Plugin])
            dataset = opened(xr.open_dataset, memory_store(build(Group({"a": field}))))
        assert ("spatial_ref" in dataset.coords) == has_crs


def test_conventions_that_are_declared_do_not_give_way() -> None:
    attributes = {**ALONG_X, **declaring("cs", "ref"), "x": {"node": "/g/x"}}
    x = Group({"x": coordinate("x", [7.0, 8.0, 9.0])})
    root = Group({"a": Array(np.ones(3), ("x",), attributes), "g": x})
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    assert dataset["x"].values.tolist() == [5, 6, 7]
    assert dataset["g_x"].values.tolist() == [7.0, 8.0, 9.0]


def test_what_is_assumed_says_what_others_have_not_said() -> None:
    """Its transform is not that of the grid then, nor of the group's own coordinates."""
    grid = {"proj:code": "EPSG:32632", "proj:shape": [3, 4]}
    grid |= {"proj:transform": [10.0, 0.0, 0.0, 0.0, -10.0, 100.0], **ALONG_X}
    members = {"a": Array(np.ones((3, 4)), ("y", "x"), grid)}
    for own in ({}, {"y": coordinate("y", [1.0, 2.0, 4.0])}):
        store = memory_store(build(Group({**members, **own})))
        dataset = opened(xr.open_dataset, store, assume_conventions="proj")
        assert dataset["x"].values.tolist() == [5, 6, 7, 8]
        assert dataset["y"].values.tolist() == ([1.0, 2.0, 4.0] if own else [95.0, 85.0, 75.0])
        assert "GeoTransform" not in dataset["spatial_ref"].attrs


# Attributes: what is read of an array, or of a group, makes it another one.

UOM = {"uom": {"ucum": {"unit": "kg"}}}


# Groups.


@pytest.mark.parametrize("dims", [(), ("x",)])
@pytest.mark.parametrize("named", ["/g/a", "/g/nope"])
def test_groups_whose_array_refers_to_that_of_the_first(named: str, dims: tuple[str, ...]) -> None:
    field = Array(np.ones((2,) * len(dims)), dims, declaring("CF", ancillary_variables=named))
    store = memory_store(build(Group(dict.fromkeys("ghi", Group({"a": field})))))
    found, told = opened_with_warnings(xr.open_groups, store)
    other = "g_a" if named == "/g/a" else "/g/nope"
    names = [found[f"/{name}"]["a"].attrs["ancillary_variables"] for name in "ghi"]
    assert names == [named, other, other]
    wrong = ["/h/a", "/i/a"] if named == "/g/a" else ["/g/a", "/h/a", "/i/a"]
    assert [path for warning in told for path in warning.paths] == wrong


def test_of_groups_that_are_alike_but_for_a_broken_array_one_tells_of_it() -> None:
    group = Group({"a": Array([1.0, 2.0], ("x",))})
    contents = build(Group(dict.fromkeys("ghi", group)))
    contents["h/b/zarr.json"] = b"nonsense"
    found, told = opened_with_warnings(xr.open_groups, memory_store(contents))
    assert [set(found[f"/{name}"].variables) for name in "ghi"] == [{"a"}] * 3
    assert [warning.paths for warning in told] == [("/h/b",)]


def test_a_group_in_one_of_which_nothing_is_written() -> None:
    contents = build(Group({"a": Group({"g": Group({"v": Array([1.0, 2.0], ("x",), UOM)})})}))
    del contents["a/zarr.json"]
    dataset = opened(xr.open_dataset, memory_store(contents), group="a/g")
    assert dataset["v"].dims == ("x",)


def test_arrays_that_cannot_be_opened_have_no_say_in_names_of_dimensions() -> None:
    contents = build(Group({"a": Array(np.ones(5), ("x",)), "b": Array(np.ones(3), ("x",))}))
    contents = edit(contents, "a/zarr.json", lambda document: {**document, "data_type": "nope"})
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(contents))
    assert dataset["b"].dims == ("x",)
    assert [warning.paths for warning in told] == [("/a",)]


def test_attributes_that_are_broken_are_the_place_of_what_is_told() -> None:
    contents = build(Group({"a": Array([1.0, 2.0], ("x",))}))
    contents = edit(contents, "a/zarr.json", lambda document: {**document, "attributes": []})
    problem = quietly(explain, memory_store(contents)).problems[0]
    assert problem.place is not None
    assert (problem.place.node, problem.place.pointer) == ("/a", "/attributes")


@pytest.mark.parametrize("tier", ["principal", "service"])
@pytest.mark.parametrize("assumed", ["it", "proj", ["it", "proj"]], ids=str)
def test_a_handler_that_fails_beside_conventions_that_are_assumed(
    tier: Any, assumed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing(Plugin):
        def interpret(self, array: ArrayView) -> Interpretation:
            raise ValueError(array.name)

    monkeypatch.setattr(Failing, "tier", tier)
    register(Failing)
    grid = {"proj:code": "EPSG:3857", "proj:transform": [1.0, 0.0, 0.0, 0.0, -1.0, 2.0]}
    root = Group({"a": Array(np.ones((2, 2)), ("y", "x"), {**IT, **grid, "proj:shape": [2, 2]})})
    dataset, (told,) = opened_with_warnings(
        xr.open_dataset, memory_store(build(root)), assume_conventions=assumed
    )
    assert told.paths == ("/a",)
    assert set(dataset.coords) - {"spatial_ref"} == ({"y", "x"} if "proj" in assumed else set())
