"""How conventions are declared and recognised, and how handlers are found and ordered."""

from typing import Any, ClassVar

import pytest
import xarray as xr

from zarr_xgroup import ConventionHandler, check
from zarr_xgroup.conventions import register, registry
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.declaring import declarations, is_declared, matches
from zarr_xgroup.tests.builders import declaring, opened_with_warnings, recorded, stored
from zarr_xgroup.tests.tables import rows, store_of

UUID = "11111111-2222-4333-8444-555555555555"
OTHER_UUID = "99999999-2222-4333-8444-555555555555"


class Station(ConventionHandler):
    """A third party's, with its identity in upper and lower case."""

    tier = "principal"
    name = "Station"
    uuid: ClassVar[str | None] = f"ABCDEF00{UUID[8:]}"
    identifiers = ("somebody/zarr-station", "Somebody/old-name")

    def get_variables(self, *_arguments: Any) -> dict[str, xr.Variable]:
        return {}


# Identity.

MINE = str(Station.uuid)
URL = "https://github.com/somebody/zarr-station"
RAW = "https://raw.githubusercontent.com/somebody/zarr-station"


@pytest.mark.parametrize(
    "declaration",
    [
        {"uuid": MINE},
        {"uuid": MINE.lower()},
        {"uuid": MINE, "name": "other", "schema_url": "https://example.com/a/b"},
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
        {"uuid": f" {MINE}", "name": "station"},
        {"uuid": MINE[:-1], "name": "station"},
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
def test_declarations_of_other_conventions(declaration: dict[str, Any]) -> None:
    assert not matches(Station, declaration)
    assert not is_declared(Station, {"zarr_conventions": [declaration]})


#: Declarations, and whether they are of published conventions that define no coordinates.
STAC = "b3703368-7e7e-4e8e-9e0e-6d0f0d5e8e8e"
WITHOUT_COORDINATES: list[tuple[dict[str, Any], bool]] = [
    ({"uuid": STAC}, True),
    ({"uuid": STAC.upper(), "name": "other", "spec_url": "https://example.com/x/y"}, True),
    ({"uuid": "78691ef5-2222-4333-8444-555555555555"}, True),
    *(({"name": name}, True) for name in ("stac", "Stac:", "df", "enum", "thumbnails", "table")),
    *(({"name": name}, True) for name in ("license", "tessera", "geoemb", "missing_value")),
    ({"uuid": OTHER_UUID, "name": "Tessera"}, True),  # whose own uuid is not known
    ({"name": "geoemb", "schema_url": "https://example.com/x/y"}, True),
    ({"spec_url": "https://github.com/zarr-conventions/stac/blob/v0.1/README.md"}, True),
    ({"spec_url": "https://github.com/clbarnes/zarr-convention-license"}, True),
    (
        {"schema_url": f"{RAW.replace('station', 'convention-missing-value')}/main/schema.json"},
        True,
    ),
    ({"uuid": OTHER_UUID, "name": "stac"}, False),
    ({"uuid": OTHER_UUID, "spec_url": "https://github.com/zarr-conventions/stac"}, False),
    ({"name": "stac", "spec_url": "https://example.com/x/y"}, False),
    ({"spec_url": "https://github.com/zarr-conventions/stacs"}, False),
    ({"spec_url": "https://github.com/stac/other"}, False),
    ({"name": "stacs", "spec_url": "https://example.com/x/y"}, False),
]


@pytest.mark.parametrize(("declaration", "is_known"), WITHOUT_COORDINATES, ids=str)
def test_published_conventions_without_coordinates(
    declaration: dict[str, Any], is_known: bool
) -> None:
    store: Any = store_of({"": {}, "a": stored([[0.0]], "y x", **declaring(declaration))})
    rules = {it.rule.name for it in check(store).mistakes}
    assert ("conventions/known" in rules) == (not is_known)


@pytest.mark.parametrize(
    "value",
    [None, 5, "station", {"name": "station"}, [], ["station"], [5, None], [[{"name": "station"}]]],
)
def test_malformed_declarations_declare_nothing(value: Any) -> None:
    assert list(declarations({"zarr_conventions": value})) == []
    assert not is_declared(Station, {"zarr_conventions": value})
    array = stored([1.0], "x", zarr_conventions=value)
    assert opened_with_warnings(xr.open_dataset, store_of({"": {}, "v": array}))[1] == []


def test_declarations_as_an_object_need_uuids_as_keys() -> None:
    members = {UUID: {"name": "x"}, OTHER_UUID: 5, f"{UUID}-1": {"name": "y"}, "cs": {"name": "z"}}
    assert list(declarations({"zarr_conventions": members})) == [{"name": "x", "uuid": UUID}]


def test_a_handler_without_uuid_matches_by_its_name() -> None:
    class Nameless(Station):
        uuid = None

    assert matches(Nameless, {"name": "station"})
    assert not matches(Nameless, {"uuid": "None", "name": "station"})
    assert not matches(Nameless, {"name": "station", "uuid": UUID})


# Names, and what is told of them.


def test_attributes_belong_to_a_convention_by_its_name_as_prefix() -> None:
    attributes = dict.fromkeys(["Station", "Station:height", "Stations", "height", "my:Station"])
    assert list(Station.owned(attributes)) == ["Station", "Station:height"]


def test_a_convention_is_identified_by_all_of_its_names_in_any_case() -> None:
    register(Station)
    names = [" station: ", "Dimensions:", "CS"]
    assert registry.named_conventions(names) == {"Station", "coords", "cs"}
    with pytest.raises(
        ValueError, match=r"unknown convention 'nope', 'other'; known conventions are Station, cf, "
    ):
        registry.named_conventions(["nope", "cs", "other"])


TOLD: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown": ({"name": "tide:", "uuid": OTHER_UUID}, "/a: no handler is installed for the declared convention 'tide'", "is an unknown convention"),
    "known to have no coordinates": ({"name": "tessera", "uuid": OTHER_UUID}, "Select by position (isel)", ""),
    "another uuid with a second name": ({"name": "dimensions", "uuid": OTHER_UUID}, "/a: 'dimensions' is declared with uuid", "is not that of 'coords'"),
    "another uuid beside the schema": ({"uuid": OTHER_UUID, "schema_url": "https://a.org/R-CF/zarr_convention_cs/v1"}, "/a: 'cs' is declared with uuid", "is not that of 'cs'"),
    "a uuid without a name": ({"uuid": OTHER_UUID}, f"/a: no handler is installed for the declared convention '{OTHER_UUID}'", "is an unknown convention"),
    "a uuid of a plug-in without one": ({"name": "nameless", "uuid": OTHER_UUID}, "not with its name alone", "is not that of 'Nameless'"),
    "a plug-in without a uuid": ({"name": "nameless"}, "", "a name alone is not enough"),
    "earlier uuid of CF": ({"name": "cf", "uuid": "0c0a02d2-8a95-4303-8b62-16a50b439d74"}, "", ""),
    "a version": ({"name": "CF", "uuid": CfHandler.uuid, "version": "1.12"}, "", ""),
    "another member": ({"name": "CF", "uuid": CfHandler.uuid, "since": "1.12"}, "", "'since' is not a member of a declaration"),
}  # fmt: skip


@rows(TOLD, "declaration, warning, mistake")
def test_warnings_and_mistakes_of_a_declaration(
    declaration: dict[str, Any], warning: str, mistake: str
) -> None:
    register(type("Nameless", (Station,), {"name": "Nameless", "uuid": None}))
    array = stored([0.0, 0.0], "x", **declaring(declaration, units="m"))
    store: Any = store_of({"": {}, "a": array})
    _dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    assert [warning in str(it) for it in told] == [True] * bool(warning)
    assert [mistake in it.text for it in check(store).mistakes] == [True] * bool(mistake)


def test_a_grid_to_which_the_convention_of_its_group_does_not_apply() -> None:
    class Picky(Station):
        @staticmethod
        def detect(*_arguments: Any) -> bool:
            return False

    register(Picky)
    nodes: Any = {"": declaring({"name": "station"}), "v": stored([[1.0]], "y x")}
    _dataset, (warning,) = opened_with_warnings(xr.open_dataset, store_of(nodes))
    assert str(warning).startswith(
        "/v: its group declares 'Station', which does not apply to it: it has no coordinates along "
    )
