"""How conventions are declared and recognised, and how handlers are found and put in order."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import xarray as xr
import zarr

from zarr_xgroup import ConventionHandler, check
from zarr_xgroup.conventions import register, registry
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.declaring import declarations, is_declared, matches
from zarr_xgroup.tests.builders import Array, Group, build, memory_store, opened_with_warnings

UUID = "11111111-2222-4333-8444-555555555555"
CS = "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"
OTHER_UUID = "99999999-2222-4333-8444-555555555555"


class Station(ConventionHandler):
    """A third party's: attaches the position of the station that an array names."""

    tier: ClassVar[Literal["principal", "service"]] = "service"
    name = "station"
    uuid: ClassVar[str | None] = UUID
    repositories = ("somebody/zarr-station", "somebody/old-name")

    def get_variables(
        self, array: zarr.Array[Any], group: zarr.Group, root: zarr.Group
    ) -> dict[str, xr.Variable]:
        return {"height": xr.Variable((), np.float64(str(array.attrs["height"])))}


class Principal(Station):
    tier = "principal"
    name = "rings"
    uuid: ClassVar[str | None] = OTHER_UUID


class WrongTier(Station):
    tier = "secondary"  # type: ignore[assignment]
    name = "wrong tier"
    uuid = None


# Identity.

URL = "https://github.com/somebody/zarr-station"
RAW = "https://raw.githubusercontent.com/somebody/zarr-station"


@pytest.mark.parametrize(
    "declaration",
    [
        {"uuid": UUID},
        {"uuid": UUID.upper()},
        {"uuid": UUID, "name": "other", "schema_url": "https://example.com/a/b"},
        {"schema_url": f"{RAW}/refs/tags/v1/schema.json"},
        {"schema_url": f"{RAW}/refs/heads/main/schema.json", "name": "other"},
        {"schema_url": f"{URL}/blob/v0.1/schema.json"},
        {"schema_url": "HTTPS://GitHub.com/Somebody/Zarr-Station/blob/main/schema.json"},
        {"schema_url": "https://github.com/somebody/old-name/blob/main/schema.json"},
        {"spec_url": f"{URL}/blob/v1/README.md"},
        {"spec_url": f"{URL}.git"},
        {"spec_url": URL},
        {"spec_url": f"{URL}/", "name": "other"},
        {"spec_url": f"{URL}/tree/main".replace("https", "http")},
        {"spec_url": f"{URL}/blob/main/README.md#properties"},
        {"name": "station"},
        {"name": "station:"},
        {"name": "Station"},
        {"name": " station "},
        {"name": "station", "uuid": None},
        {"name": "station", "uuid": 5, "schema_url": None, "spec_url": []},
    ],
    ids=str,
)
def test_declarations_that_are_recognised(declaration: dict[str, Any]) -> None:
    assert matches(Station, declaration)
    assert is_declared(Station, {"zarr_conventions": [{"name": "x"}, declaration]})


@pytest.mark.parametrize(
    "declaration",
    [
        {},
        {"uuid": OTHER_UUID, "name": "station"},
        {"uuid": "", "name": "station"},
        {"uuid": f" {UUID}", "name": "station"},
        {"uuid": UUID[:-1], "name": "station"},
        {"uuid": OTHER_UUID, "schema_url": f"{RAW}/refs/tags/v1/schema.json"},
        {"schema_url": "https://github.com/else/zarr-station/schema.json", "name": "station"},
        {"schema_url": "https://github.com/somebody/zarr-stations/schema.json"},
        {"schema_url": "https://github.com/somebody", "name": "station"},
        {"schema_url": "https://example.com/x/y", "spec_url": URL},
        {"spec_url": "https://example.com/x/y", "name": "station"},
        {"spec_url": "no URL", "name": "station"},
        {"spec_url": URL.removeprefix("https://")},
        {"spec_url": URL.replace("//", "/")},
        {"spec_url": URL.replace("com/", "com/x/")},
        {"spec_url": f"{URL}-fork/main"},
        {"name": ":"},
        {"name": "stations"},
        {"name": "sta tion"},
        {"name": 5},
        {"name": None},
        {"name": ["station"]},
        {"description": "station"},
    ],
    ids=str,
)
def test_declarations_that_are_of_something_else(declaration: dict[str, Any]) -> None:
    assert not matches(Station, declaration)
    assert not is_declared(Station, {"zarr_conventions": [declaration]})


def test_a_handler_without_uuid_matches_by_what_it_has() -> None:
    assert matches(WrongTier, {"name": "wrong tier"})
    assert not matches(WrongTier, {"name": "wrong tier", "uuid": UUID})


@pytest.mark.parametrize(
    "value",
    [None, 5, "station", {"name": "station"}, [], ["station"], [5, None], [[{"name": "station"}]]],
)
def test_malformed_declarations_declare_nothing(value: Any) -> None:
    assert list(declarations({"zarr_conventions": value})) == []
    assert not is_declared(Station, {"zarr_conventions": value})
    root = Group({"v": Array([1.0], ("x",), {"zarr_conventions": value})})
    _dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    assert told == []


# Registered ones.


def test_attributes_that_belong_to_a_convention() -> None:
    attributes = dict.fromkeys(["station", "station:height", "stations", "height", "my:station"])
    assert list(Station.owned(attributes)) == ["station", "station:height"]


class Upper(Station):
    """Writes its own name and uuid in upper case."""

    tier = "principal"
    name = "Upper"
    uuid = "ABCDEF00-2222-4333-8444-555555555555"


@pytest.mark.parametrize(
    "declaration",
    [{"name": "upper:"}, {"name": "UPPER"}, {"uuid": str(Upper.uuid).lower()}],
    ids=str,
)
def test_the_case_of_a_handlers_own_name_and_uuid_does_not_count(
    declaration: dict[str, Any],
) -> None:
    register(Upper)
    assert matches(Upper, declaration)
    assert registry.named_conventions([" upper: "]) == {"Upper"}
    other = {"zarr_conventions": [{"name": " upper: ", "uuid": OTHER_UUID}]}
    assert registry.why_not_declared(other).startswith("'upper' is declared with uuid")


def test_what_is_declared_by_uuid_is_an_object_under_nothing_but_a_uuid() -> None:
    members = {UUID: {"name": "x"}, OTHER_UUID: 5, f"{UUID}-1": {"name": "y"}, "cs": {"name": "z"}}
    assert list(declarations({"zarr_conventions": members})) == [{"name": "x", "uuid": UUID}]


def test_unknown_names_are_all_told() -> None:
    with pytest.raises(ValueError, match=r"there is no convention 'nope', 'other'; there are cf, "):
        registry.named_conventions(["nope", "cs", "other"])


def test_a_convention_is_known_by_all_of_its_names() -> None:
    assert registry.named_conventions(["Dimensions:", "CS"]) == {"coords", "cs"}
    for known in ({"name": "CS"}, {"name": "dimensions"}, {"name": "it", "uuid": CS.upper()}):
        members = {"tier": "service", "get_variables": lambda *_arguments: {}, **known}
        with pytest.raises(TypeError, match="handles the same convention already"):
            registry.register(type("Handler", (ConventionHandler,), members))


def test_why_a_declaration_does_not_count_is_told_in_full_but_for_what_is_long() -> None:
    url = f"https://example.org/{'long' * 20}"
    found = registry.why_not_declared({"zarr_conventions": [{"name": " CS: ", "spec_url": url}]})
    right = "R-CF/zarr_convention_cs, R-CF/zarr_conventions_cs"
    assert found == f"'CS' is declared with spec_url {url[:40]!r}, not with {right}"
    found = registry.why_not_declared({"zarr_conventions": ["long" * 50]})
    assert found == f'zarr_conventions/0: must be an object, got string "{("long" * 50)[:99]}...'


@pytest.mark.parametrize(
    ("declaration", "warning", "mistake"),
    [
        ({"name": "tide:", "uuid": OTHER_UUID}, "/a: 'tide' is declared, for which no handler is installed", "is a convention that is not known here"),
        ({"name": "license", "uuid": OTHER_UUID}, "'zarr_conventions' of an array or of its group can", ""),
        ({"name": "cf", "uuid": "0c0a02d2-8a95-4303-8b62-16a50b439d74"}, "", ""),
        ({"name": "CF", "uuid": CfHandler.uuid, "version": "1.12"}, "", ""),
        ({"name": "CF", "uuid": CfHandler.uuid, "since": "1.12"}, "", "'since' is no member of a declaration"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_told_of_a_declaration(
    declaration: dict[str, Any], warning: str, mistake: str
) -> None:
    attributes = {"units": "m", "zarr_conventions": [declaration]}
    store = memory_store(build(Group({"a": Array(np.zeros(3), ("x",), attributes)})))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        xr.open_dataset(store, engine="xgroup")  # type: ignore[arg-type]
    assert [warning in str(it.message) for it in told] == [True] * bool(warning)
    assert [mistake in it.text for it in check(store).mistakes] == [True] * bool(mistake)


def test_what_a_grid_lacks_to_which_the_convention_of_its_group_does_not_apply() -> None:
    class Picky(Principal):
        @staticmethod
        def detect(*_arguments: Any) -> bool:
            return False

    register(Picky)
    declared = {"zarr_conventions": [{"name": "rings"}]}
    root = Group({"v": Array([[1.0]], ("y", "x"))}, declared)
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    lack = (
        "its group declares 'rings', but the convention does not apply to it: it has no coordinates"
    )
    assert str(warning).startswith(f"/v: {lack} along ")


class WithoutTier(ConventionHandler):
    name = "no tier"


def test_a_handler_has_to_say_what_the_coordinates_are() -> None:
    root = zarr.open_group(memory_store(build(Group({"v": Array([1.0], ("x",))}))), mode="r")
    array = root["v"]
    assert isinstance(array, zarr.Array)
    with pytest.raises(NotImplementedError):
        WithoutTier().get_variables(array, root, root)
