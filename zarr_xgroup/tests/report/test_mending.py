"""`mend`: what it writes, what it leaves and why, and that it touches nothing else."""

from __future__ import annotations

import json
import os
import shutil
import stat
import warnings
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Any

import pyproj
import pytest
import xarray as xr
from packaging.version import Version
from zarr.core.buffer.cpu import Buffer
from zarr.storage import LocalStore

import zarr_xgroup
from zarr_xgroup import cli
from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.findings import Place
from zarr_xgroup.report import mending
from zarr_xgroup.report.mending import MendedDocument, Mending
from zarr_xgroup.storage.writing import Drafts
from zarr_xgroup.tests.builders import (
    HAS_ICECHUNK,
    HAS_OBSTORE,
    UUIDS,
    ZARR,
    Json,
    ZarrFormat,
    copy_to,
    memory_store,
    obstore_store,
    to_json,
    write_local,
)
from zarr_xgroup.tests.documents import (
    ALL_FORMS,
    array,
    contents_of,
    files,
    group,
    v2_files,
    write,
)
from zarr_xgroup.tests.report.test_check import (
    COORDS,
    CRS,
    EXTERNAL,
    GDAL,
    GONE,
    GRID,
    LAT,
    LAYOUT,
    OTHER_UUID,
    SET,
    STEPS,
    TAS,
    UOM,
    broken,
    broken_part,
    declared,
    sound,
)
from zarr_xgroup.tests.servers import Fault, S3Server

#: Whether engine zarr opens a group by the consolidated metadata of the root.
OPENS_CONSOLIDATED_GROUPS = Version("3.1") <= ZARR

ONLY_WHO_WRITES = "only who writes the store knows whether this is right: "
WKT = pyproj.CRS(32633).to_wkt()
DATA: Mapping[str, Any] = {
    "model/days": [0, 1],
    "grid/band": [[1.0] * 6] * 4,
    "swath/lon": [[5.0] * 4] * 3,
}
MISTAKE = {f"{GRID}/spatial:shape": [6, 4]}
TWO_MISTAKES = {**MISTAKE, f"{EXTERNAL}/node": "../days"}
WITH_A_MISTAKE = contents_of(broken(MISTAKE))
#: What a grid has by numbers in the order of GDAL.
OF_WRONG_NUMBERS = {("/grid", "xc"), ("/grid", "yc")}
METADATA = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}

#: What is broken, by the rule that tells it: all of it is mended, so that the store is sound again.
MENDED: list[tuple[str, dict[str, Any]]] = [
    ("conventions/declared", {f"{TAS}/zarr_conventions/0": GONE}),
    ("conventions/declared", {f"{GRID}/zarr_conventions": GONE}),
    ("conventions/identified", {"/mass#/attributes/zarr_conventions/0": {"name": "uom"}}),
    (
        "conventions/counts-for-something",
        {f"{TAS}/zarr_conventions/0/uuid": UUIDS["cs"][:-1] + "5"},
    ),
    ("conventions/declared-once", {f"{TAS}/zarr_conventions/-": {"uuid": UUIDS["cs"]}}),
    (
        "conventions/spelling-of-zarr_conventions",
        {
            "/mass#/attributes/zarr_conventions": GONE,
            "/mass#/attributes/zarr_convention": declared("uom"),
        },
    ),
    (
        "conventions/spelling-of-attributes",
        {
            f"{GRID}/spatial:shape": GONE,
            f"{GRID}/spatial:shpe": [4, 6],
        },
    ),
    (
        "cs/spelling",
        {f"{LAT}/abbreviation": GONE, f"{LAT}/abreviation": "Y"},
    ),
    ("spatial/order-of-transform", {f"{GRID}/spatial:transform": GDAL}),
    ("spatial/shape-of-the-array", MISTAKE),
    ("ref/first-rule", {f"{EXTERNAL}/node": "../days"}),
    ("ref/leads-somewhere", {f"{EXTERNAL}/node": "../../days"}),
    (
        "arrays/dimension-names",
        {
            "/grid/band#/dimension_names": GONE,
            "/grid/band#/attributes/_ARRAY_DIMENSIONS": ["y", "x"],
        },
    ),
]

#: Rules about documents of Zarr v3.
OF_V3 = {"arrays/dimension-names"}

#: Rules that are broken by other values at the same places.
NOT_TOGETHER = {
    "conventions/counts-for-something",
    "conventions/declared-once",
    "conventions/identified",
    "ref/leads-somewhere",
    "spatial/shape-of-the-array",
}

#: What is broken, the rule that tells it, and a part of why it is not mended.
LEFT: list[tuple[str, dict[str, Any], str]] = [
    ("conventions/used", {f"{TAS}/cs": GONE}, "whether this is right: "),
    (
        "conventions/counts-for-something",
        {f"{TAS}/zarr_conventions/0/uuid": OTHER_UUID},
        "whether this is right: ",
    ),
    ("cs/values", {f"{SET}/values": {}}, "whether this is right: "),
    ("spatial/transform", {f"{GRID}/spatial:transform": [1.0]}, "whether this is right: "),
    ("ref/leads-somewhere", {f"{EXTERNAL}/node": "nowhere"}, "whether this is right: "),
]


def opened(store: Any) -> xr.DataTree:
    """Return all that is in a store."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xr.open_datatree(store, engine="xgroup")


def held(tree: xr.DataTree) -> set[tuple[str, str]]:
    """Return the variables of each group."""
    return {(node.path, str(name)) for node in tree.subtree for name in node.variables}


def chunks(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return what is no metadata, and when it was written."""
    return {
        key: (content, (folder / key).stat().st_mtime_ns)
        for key, content in files(folder).items()
        if key.rpartition("/")[2] not in METADATA
    }


def names(mending: Mending) -> list[str]:
    return [it.rule.name for it in mending.mended]


def mended(folder: Path, edits: dict[str, Any], form: tuple[ZarrFormat, bool]) -> Mending:
    """Mend a store, and check all that mending promises; return what was mended."""
    documents = broken_part(edits)
    values = {path: it for path, it in DATA.items() if path in documents}
    store = write(folder / "store.zarr", documents, values, form)
    before, data, there = files(store), chunks(store), held(opened(store))
    shown = zarr_xgroup.mend(store)
    assert files(store) == before
    done = zarr_xgroup.mend(store, dry_run=False)
    assert (shown.documents, shown.is_written, done.is_written) == (done.documents, False, True)
    assert not done.left
    written = {it.key: it.after.encode() for it in done.documents}
    assert files(store) == {**before, **written}
    assert chunks(store) == data
    for consolidated in (None, False) if form[1] else (None,):
        assert zarr_xgroup.check(store, consolidated=consolidated).is_clean
    whole = contents_of({path: it for path, it in sound().items() if path in documents})
    assert there - OF_WRONG_NUMBERS <= held(opened(store)) == held(opened(memory_store(whole)))
    assert not zarr_xgroup.mend(store, dry_run=False).documents
    return done


@pytest.mark.parametrize(("rule", "edits"), MENDED, ids=[rule for rule, _edits in MENDED])
def test_what_has_one_remedy_is_mended(tmp_path: Path, rule: str, edits: dict[str, Any]) -> None:
    assert rule in names(mended(tmp_path, edits, (3, False)))


@ALL_FORMS
def test_all_of_it_is_mended_at_once(tmp_path: Path, form: tuple[ZarrFormat, bool]) -> None:
    together = {rule: edits for rule, edits in MENDED if rule not in NOT_TOGETHER}
    edits = {place: value for found in together.values() for place, value in found.items()}
    rules = together.keys() - (OF_V3 if form[0] == 2 else set())
    assert set(names(mended(tmp_path, edits, form))) == rules


@pytest.mark.parametrize(("rule", "edits", "why"), LEFT, ids=[rule for rule, *_rest in LEFT])
def test_what_has_no_single_remedy_is_left_and_it_says_why(
    tmp_path: Path, rule: str, edits: dict[str, Any], why: str
) -> None:
    store = write(tmp_path / "store.zarr", broken(edits), DATA)
    before = files(store)
    found = zarr_xgroup.mend(store, dry_run=False)
    assert not found.documents
    assert files(store) == before
    assert why in next(it.why_not for it in found.left if it.finding.rule.name == rule)
    assert f"not mended: {found.left[0].finding.place}" in repr(found)


@ALL_FORMS
def test_a_sound_store_stays_as_it_is(tmp_path: Path, form: tuple[ZarrFormat, bool]) -> None:
    store = write(tmp_path / "store.zarr", sound(), DATA, form)
    found = zarr_xgroup.mend(store, dry_run=False)
    assert (found.documents, found.mended, found.left) == ((), (), ())
    assert repr(found) == f"{store}: 0 documents written, 0 mended, 0 left"


# What the data carry themselves.


def of_gdal(**attributes: Any) -> dict[str, Json]:
    """Return a store with a grid mapping variable, beside which nothing says the grid."""
    mapping = {"crs_wkt": WKT, "GeoTransform": "500000 10 0 4600000 0 -10", **attributes}
    declaring = {"zarr_conventions": declared("spatial", "proj")}
    return {
        "": group(),
        "grid": group({**declaring, "spatial:dimensions": ["y", "x"]}),
        "grid/band": array((4, 6), ("y", "x"), {"grid_mapping": "utm"}),
        "grid/utm": array((), (), mapping, "int64"),
    }


@ALL_FORMS
def test_what_a_grid_mapping_variable_says_is_declared(
    tmp_path: Path, form: tuple[ZarrFormat, bool]
) -> None:
    store = write(tmp_path / "store.zarr", of_gdal(), form=form)
    before = held(opened(store))
    zarr_xgroup.mend(store, dry_run=False)
    assert zarr_xgroup.check(store).is_clean
    tree = xr.open_datatree(store, engine="xgroup")
    assert held(tree) == before | {("/grid", "x"), ("/grid", "y")}
    assert tree["grid"].to_dataset()["x"].values[:2].tolist() == [500005.0, 500015.0]
    assert tree["grid"].attrs["proj:code"] == "EPSG:32633"
    numbers = [10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0]
    assert tree["grid/band"].attrs["spatial:transform"] == numbers


def test_wkt_without_a_code_is_declared_as_it_is(tmp_path: Path) -> None:
    wkt = pyproj.CRS.from_proj4("+proj=laea +lat_0=51 +lon_0=11").to_wkt()
    store = write(tmp_path / "store.zarr", of_gdal(crs_wkt=wkt))
    zarr_xgroup.mend(store, dry_run=False)
    assert xr.open_datatree(store, engine="xgroup")["grid"].attrs["proj:wkt2"] == wkt


def test_of_two_crss_none_is_declared(tmp_path: Path) -> None:
    documents = of_gdal()
    documents["grid/other"] = array((4, 6), ("y", "x"), {"grid_mapping": "utm34"})
    documents["grid/utm34"] = array((), (), {"crs_wkt": pyproj.CRS(32634).to_wkt()}, "int64")
    found = zarr_xgroup.mend(write(tmp_path / "store.zarr", documents))
    assert "conventions/used" in [it.finding.rule.name for it in found.left]


def test_a_transform_of_centres_is_not_declared_as_one_of_corners(tmp_path: Path) -> None:
    documents = of_gdal()
    documents["grid"]["attributes"]["spatial:registration"] = "node"
    found = zarr_xgroup.mend(write(tmp_path / "store.zarr", documents))
    assert names(found) == ["conventions/used"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("lat ../../lon", "lat lon"), ("../../lon ../lat", "lon ../lat"), ("../lon", None)],
)
def test_paths_of_cf_are_mended_where_one_array_is_so_far_called(
    tmp_path: Path, written: str, meant: str | None
) -> None:
    cf = {"zarr_conventions": [{"uuid": CfHandler.uuid, "name": "cf"}]}
    documents = {
        "": group(cf),
        "a": group(cf),
        "a/lat": array((4,), ("y",)),
        "a/lon": array((6,), ("x",)),
        "a/b": group(cf),
        "a/b/t": array((4, 6), ("y", "x"), {"coordinates": written}),
    }
    store = write(tmp_path / "store.zarr", documents)
    zarr_xgroup.mend(store, dry_run=False)
    document = json.loads((store / "a/b/t/zarr.json").read_bytes())
    assert document["attributes"]["coordinates"] == (meant or written)
    assert {"lat", "lon"} & set(opened(store)["a/b"].coords)


def test_a_reference_that_several_nodes_may_be_meant_by_is_left(tmp_path: Path) -> None:
    documents = broken({f"{EXTERNAL}/node": "../../days"})
    documents["grid/days"] = documents["model/days"]
    found = zarr_xgroup.mend(write(tmp_path / "store.zarr", documents))
    assert [it.finding.rule.name for it in found.left] == ["ref/leads-somewhere"]


def test_a_reference_to_what_does_not_fit_is_left(tmp_path: Path) -> None:
    documents = broken({f"{EXTERNAL}/node": "../../days"})
    documents["model/days"]["shape"] = [5]
    store = write(tmp_path / "store.zarr", documents)
    before = files(store)
    found = zarr_xgroup.mend(store, dry_run=False)
    assert files(store) == before
    reasons = {it.finding.rule.name: it.why_not for it in found.left}
    assert "does not fit" in reasons["ref/leads-somewhere"]


#: Twenty mistakes of one product: eleven that are mended, and nine that are not.
PLANTED: dict[str, Any] = {
    f"{GRID}/spatial:transform": GDAL,
    f"{GRID}/spatial:shape": [6, 4],
    f"{GRID}/zarr_conventions/1": GONE,
    "/mass#/attributes/zarr_conventions/0": {"name": "uom"},
    f"{TAS}/zarr_conventions/0/uuid": UUIDS["cs"][:-1] + "5",
    f"{LAT}/abbreviation": GONE,
    f"{LAT}/abreviation": "Y",
    f"{EXTERNAL}/node": "../days",
    "/pyramid/fine/band#/dimension_names": GONE,
    "/pyramid/fine/band#/attributes/_ARRAY_DIMENSIONS": ["y", "x"],
    "/swath/radiance#/attributes/zarr_conventions/-": {"uuid": UUIDS["ref"]},
    f"{COORDS}": GONE,
    "/forecast#/attributes/coords:cordinates": {"step": STEPS},
    "/globe#/attributes/zarr_conventions": GONE,
    # What only who writes the store can mend.
    f"{CRS}/id/proj:code": "EPSG:999999",
    f"{LAT}/direction": "inwards",
    f"{CRS}/axes/lon/coordinates/0/values/explicit": [1.0, 2.0],
    f"{CRS}/type": "plane curve",
    f"{GRID}/spatial:bbox": [0.0, 0.0, 0.0, 0.0],
    f"{LAYOUT}/1/transform": GONE,
    f"{UOM}/ucum/unit": "apples",
    "/swath/radiance#/attributes/geolocation/geodetic/y": GONE,
    "/model/days#/attributes/units": "days since tomorrow",
}


def test_of_twenty_mistakes_those_are_mended_that_may_be(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(PLANTED), DATA, (3, True))
    data, there = chunks(store), held(opened(store))
    found = zarr_xgroup.mend(store, dry_run=False)
    assert sorted(names(found)) == [
        "arrays/dimension-names",
        "conventions/counts-for-something",
        "conventions/declared",
        "conventions/declared",
        "conventions/declared-once",
        "conventions/identified",
        "conventions/spelling-of-attributes",
        "cs/spelling",
        "ref/first-rule",
        "spatial/order-of-transform",
        "spatial/shape-of-the-array",
    ]
    assert len(found.left) == 9
    assert {it.why_not for it in found.left} == {
        ONLY_WHO_WRITES + it.finding.remedy for it in found.left
    }
    left = {it.finding for it in found.left}
    assert left == set(zarr_xgroup.check(store).mistakes)
    assert chunks(store) == data
    assert held(opened(store)) >= there - OF_WRONG_NUMBERS


# Other stores than local ones.


@pytest.mark.server
def test_a_store_of_s3_is_mended(s3_server: S3Server) -> None:
    url = s3_server.upload("bucket", {**WITH_A_MISTAKE, "grid/band/c/0/0": b"chunk"})
    options: Any = {"storage_options": s3_server.options}
    shown = zarr_xgroup.mend(url, **options)
    assert not zarr_xgroup.check(url, **options).is_clean
    done = zarr_xgroup.mend(url, dry_run=False, **options)
    assert [it.key for it in done.documents] == ["grid/zarr.json"]
    assert done.documents == shown.documents
    assert zarr_xgroup.check(url, **options).is_clean
    assert s3_server.paths("PUT", "POST", "DELETE") == ["/bucket/grid/zarr.json"]


@pytest.mark.server
def test_what_s3_forbids_to_write_is_told(s3_server: S3Server) -> None:
    url = s3_server.upload("bucket", WITH_A_MISTAKE)
    s3_server.faults[lambda request: request.method == "PUT"] = Fault(status=403)
    with pytest.raises(XGroupStoreError, match=r"grid/zarr.json cannot be written: no permission"):
        zarr_xgroup.mend(url, dry_run=False, storage_options=s3_server.options)


def test_what_a_dict_holds_is_mended() -> None:
    contents = {key: Buffer.from_bytes(text) for key, text in WITH_A_MISTAKE.items()}
    zarr_xgroup.mend(contents, dry_run=False)
    assert zarr_xgroup.check(contents).is_clean
    assert contents["grid/zarr.json"].to_bytes() != WITH_A_MISTAKE["grid/zarr.json"]


@pytest.mark.skipif(not HAS_ICECHUNK, reason="icechunk is not installed")
def test_a_store_of_icechunk_is_mended_and_the_caller_commits() -> None:
    import icechunk

    repository = icechunk.Repository.create(icechunk.in_memory_storage())
    session = repository.writable_session("main")
    copy_to(session.store, WITH_A_MISTAKE)
    session.commit("as it was")
    with pytest.raises(XGroupStoreError, match="is open for reading only"):
        zarr_xgroup.mend(repository.readonly_session("main").store, dry_run=False)
    session = repository.writable_session("main")
    zarr_xgroup.mend(session.store, dry_run=False)
    assert zarr_xgroup.check(session.store).is_clean
    assert not zarr_xgroup.check(repository.readonly_session("main").store).is_clean
    session.commit("mended")
    assert zarr_xgroup.check(repository.readonly_session("main").store).is_clean


@pytest.mark.skipif(not HAS_OBSTORE, reason="obstore is not installed")
def test_a_store_of_obstore_is_mended() -> None:
    store = obstore_store(WITH_A_MISTAKE)
    zarr_xgroup.mend(store, dry_run=False)
    assert zarr_xgroup.check(store).is_clean


# Consolidated metadata.


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("path", ["", "grid", "grid/band"])
def test_consolidated_metadata_that_say_something_else_are_made_anew(
    tmp_path: Path, zarr_format: ZarrFormat, path: str
) -> None:
    store = write(tmp_path / "store.zarr", sound(), DATA, (zarr_format, True))
    file = store / path / ("zarr.json" if zarr_format == 3 else ".zattrs")
    document = json.loads(file.read_bytes())
    attributes = document.get("attributes", {}) if zarr_format == 3 else document
    attributes["title"] = "other"
    attributes.pop("spatial:shape", None)
    file.write_text(json.dumps(document))
    zarr_xgroup.mend(store, dry_run=False)
    assert zarr_xgroup.check(store).is_clean
    if path and OPENS_CONSOLIDATED_GROUPS:
        assert engine_zarr(store, path).attrs == engine_zarr(store, path, consolidated=False).attrs


def test_the_copy_of_the_root_follows_in_v2(tmp_path: Path) -> None:
    edits = {"#/attributes/zarr_convention": declared("spatial")}
    store = write(tmp_path / "store.zarr", broken(edits), DATA, (2, True))
    zarr_xgroup.mend(store, dry_run=False)
    own = json.loads((store / ".zattrs").read_bytes())
    assert own == {"title": "sound", "zarr_conventions": declared("spatial")}
    whole = json.loads((store / ".zmetadata").read_bytes())
    assert whole["metadata"][".zattrs"] == own


def engine_zarr(store: Path, path: str, *, consolidated: bool = True) -> xr.Dataset:
    group = path.partition("/")[0]
    found: xr.Dataset = xr.open_zarr(store, group=group, consolidated=consolidated)
    return found


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_new_node_gets_into_consolidated_metadata(
    tmp_path: Path, zarr_format: ZarrFormat
) -> None:
    store = write(tmp_path / "store.zarr", sound(), DATA, (zarr_format, True))
    twin = {"new": sound()["grid"], "new/band": sound()["grid/band"]}
    write(store, twin, form=(zarr_format, False))
    found = zarr_xgroup.mend(store, dry_run=False)
    assert names(found) == ["consolidated/complete"]
    assert zarr_xgroup.check(store).is_clean
    if OPENS_CONSOLIDATED_GROUPS:
        assert "band" in xr.open_zarr(store, group="new", consolidated=True)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_nodes_that_are_only_consolidated_are_not_lost(
    tmp_path: Path, zarr_format: ZarrFormat
) -> None:
    store = write(tmp_path / "store.zarr", broken(TWO_MISTAKES), DATA, (zarr_format, True))
    for key in ("zarr.json", ".zattrs", ".zgroup"):
        (store / "grid" / key).unlink(missing_ok=True)
    before = held(opened(store))
    found = zarr_xgroup.mend(store, dry_run=False)
    assert names(found) == ["ref/first-rule"]
    left = {it.finding.rule.name: it.why_not for it in found.left}
    assert left.keys() == {"consolidated/nodes-are-there", "spatial/shape-of-the-array"}
    assert "is not in the store" in left["spatial/shape-of-the-array"]
    assert held(opened(store)) >= before


# What stands in the way.


def test_a_store_that_can_be_read_no_more_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = write(tmp_path / "store.zarr", broken(TWO_MISTAKES), DATA)
    written = Drafts.write

    async def gone(*_arguments: Any) -> None:
        raise TimeoutError

    def late(self: Drafts, target: Any) -> None:
        monkeypatch.setattr(LocalStore, "get", gone)
        written(self, target)

    monkeypatch.setattr(Drafts, "write", late)
    before = files(store)
    with pytest.raises(XGroupStoreError, match=r"zarr.json cannot be read: "):
        zarr_xgroup.mend(store, dry_run=False)
    assert files(store) == before


def test_a_document_that_was_changed_meanwhile_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = write(tmp_path / "store.zarr", broken(TWO_MISTAKES), DATA)
    file = store / "grid" / "zarr.json"
    written = Drafts.write

    def late(self: Drafts, target: Any) -> None:
        file.write_bytes(file.read_bytes() + b"\n")
        written(self, target)

    monkeypatch.setattr(Drafts, "write", late)
    before = files(store)
    with pytest.raises(XGroupStoreError, match=r"grid/zarr.json was changed meanwhile"):
        zarr_xgroup.mend(store, dry_run=False)
    assert files(store) == {**before, "grid/zarr.json": before["grid/zarr.json"] + b"\n"}


def test_a_link_out_of_the_store_is_not_followed(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(TWO_MISTAKES), DATA)
    outside = tmp_path / "outside"
    (store / "grid").rename(outside)
    (store / "grid").symlink_to(outside)
    before = files(tmp_path)
    with pytest.raises(XGroupStoreError, match=r"grid/zarr.json is a link to .*outside"):
        zarr_xgroup.mend(store, dry_run=False)
    assert files(tmp_path) == before


def test_a_store_that_is_named_by_a_link_is_mended(tmp_path: Path) -> None:
    write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    (tmp_path / "link.zarr").symlink_to(tmp_path / "store.zarr")
    zarr_xgroup.mend(tmp_path / "link.zarr", dry_run=False)
    assert zarr_xgroup.check(tmp_path / "store.zarr").is_clean


def test_what_is_read_only_stays(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    before = files(store)
    with pytest.raises(XGroupStoreError, match="is open for reading only"):
        zarr_xgroup.mend(LocalStore(store, read_only=True), dry_run=False)
    assert files(store) == before


def test_an_archive_is_not_written(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    archive = Path(shutil.make_archive(str(tmp_path / "packed"), "zip", store))
    before = archive.read_bytes()
    for named in (archive, f"zip://::{archive}"):
        assert names(zarr_xgroup.mend(named)) == ["spatial/shape-of-the-array"]
        with pytest.raises(XGroupStoreError, match="is an archive: unpack it"):
            zarr_xgroup.mend(named, dry_run=False)
    assert archive.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    (store / "grid" / "zarr.json").chmod(0o444)
    with pytest.raises(XGroupStoreError, match=r"grid/zarr.json cannot be written: no permission"):
        zarr_xgroup.mend(store, dry_run=False)


def test_the_permissions_of_a_file_stay(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    file = store / "grid" / "zarr.json"
    file.chmod(0o640)
    zarr_xgroup.mend(store, dry_run=False)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [it.name for it in file.parent.iterdir() if it.name.startswith(".")] == []


def test_a_store_in_memory_is_mended() -> None:
    store = memory_store(WITH_A_MISTAKE)
    zarr_xgroup.mend(store, dry_run=False)
    assert zarr_xgroup.check(store).is_clean


def test_only_the_group_that_is_asked_for_is_mended(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(TWO_MISTAKES), DATA, (3, True))
    for found in (zarr_xgroup.mend(store / "grid"), zarr_xgroup.mend(store, group="grid")):
        assert [it.key for it in found.documents] == ["grid/zarr.json", "zarr.json"]


def test_a_document_keeps_what_is_not_mended_byte_for_byte(tmp_path: Path) -> None:
    store = write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    file = store / "grid" / "zarr.json"
    text = json.dumps({**json.loads(file.read_bytes()), "unknown": 1}, indent=3)
    text = (
        text.replace("4600000.0", "46.0e5", 1).replace('"unknown": 1', '"unknown"  :0.10e1') + " "
    )
    file.write_text(text)
    zarr_xgroup.mend(store, dry_run=False)
    old, new = "6,\n         4\n", "4,\n         6\n"
    assert text.count(old) == 1
    assert file.read_text() == text.replace(old, new)


def odd(text: bytes) -> dict[str, bytes]:
    """Return a store of Zarr v2 in whose consolidated metadata one array can be mended, and one is odd."""
    named = {"zarr_conventions": declared("uom"), "uom": {"ucum": {"unitt": "kg"}}}
    documents = {
        ".zattrs": to_json({}),
        ".zgroup": to_json({"zarr_format": 2}),
        "a/.zarray": to_json(v2_files(array((2,), ("x",)))[".zarray"]),
        "a/.zattrs": to_json({**named, "_ARRAY_DIMENSIONS": ["x"]}),
    }
    members = b",".join(to_json(key) + b":" + it for key, it in documents.items())
    metadata = b'{"metadata":{%s,"b/.zattrs":%s,"b/.zgroup":{}},"zarr_consolidated_format":1}'
    return {**documents, ".zmetadata": metadata % (members, text)}


@pytest.mark.parametrize(
    "text",
    [b'{"n":%s}' % (b"1" * 5000), b'{"\xff":1}'],
    ids=["digits", "no UTF-8"],
)
def test_consolidated_metadata_that_cannot_be_edited_stay(tmp_path: Path, text: bytes) -> None:
    store = write_local(odd(text), tmp_path / "store.zarr")
    found = zarr_xgroup.mend(store, dry_run=False)
    assert {it.finding.place.node for it in found.left} >= {"/a", "/b"}
    assert files(store) == odd(text)
    assert str(found).endswith("2 left")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_document_in_another_encoding_is_left(tmp_path: Path, encoding: str) -> None:
    store = write(tmp_path / "store.zarr", broken({f"{GRID}/spatial:shape": [6, 4]}), DATA)
    file = store / "grid" / "zarr.json"
    file.write_bytes(file.read_text().encode(encoding))
    found = zarr_xgroup.mend(store, dry_run=False)
    assert [(it.finding.rule.name, found.documents) for it in found.left] == [
        ("spatial/shape-of-the-array", ())
    ]
    assert "cannot be edited" in found.left[0].why_not


def test_letters_that_cannot_be_written_are_left(tmp_path: Path) -> None:
    documents = broken({})
    documents["grid/band"].pop("dimension_names")
    documents["grid/band"]["attributes"]["_ARRAY_DIMENSIONS"] = ["\ud800", "x"]
    store = write(tmp_path / "store.zarr", documents)
    file = store / "grid" / "band" / "zarr.json"
    file.write_text(
        file.read_text().replace('"attributes": {', '"attributes": {"title": "\u00e9",')
    )
    found = zarr_xgroup.mend(store, dry_run=False)
    assert "cannot be edited" in next(
        it.why_not for it in found.left if it.finding.rule.name == "arrays/dimension-names"
    )


def test_what_is_nested_deep_is_shown_as_it_is() -> None:
    one, other = (f'{{"deep": {"[" * 20_000}{"]" * 20_000}, "a": {n}}}' for n in range(2))
    lines = MendedDocument("zarr.json", one, other).diff.splitlines()
    assert lines == ["--- a/zarr.json", "+++ b/zarr.json", "@@ -1 +1 @@", f"-{one}", f"+{other}"]


def test_long_documents_are_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def matcher(_junk: None, one: Sequence[str], other: Sequence[str]) -> SequenceMatcher[str]:
        compared.append(max(len(one), len(other)))
        return SequenceMatcher(None, one, other)

    monkeypatch.setattr(mending, "SequenceMatcher", matcher)
    monkeypatch.setattr(mending, "_WINDOW", 50)
    before = [f"{number}" for number in range(1000)]
    after = [line for n, line in enumerate(before) for line in [line, "more"][: 1 + (n % 37 == 0)]]
    after[500:520] = ["other"]
    document = MendedDocument("a", "\n".join(before), "\n".join(after))
    expected = unified_diff(before, after, "a/a", "b/a", lineterm="")
    assert document.diff.splitlines() == list(expected)
    assert max(compared) == 50


def test_the_work_of_mending_grows_as_the_store_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[Place] = []
    hash_of: Any = Place.__hash__

    def counted(place: Place) -> int:
        hashed.append(place)
        found: int = hash_of(place)
        return found

    monkeypatch.setattr(Place, "__hash__", counted)
    counts = []
    for number in (10, 20, 40):
        arrays = {
            f"a{n}": array(
                (2,), ("x",), {"zarr_conventions": [{"name": "uom"}], "uom": {"unit": "m"}}
            )
            for n in range(number)
        }
        store = write(tmp_path / f"{number}.zarr", {"": group(), **arrays})
        hashed.clear()
        assert len(zarr_xgroup.mend(store).documents) == number
        counts.append(len(hashed))
    one, two, four = counts
    assert four - two < 2.2 * (two - one)


# The command line.


def test_the_command_shows_a_diff_and_writes_only_if_told_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = write(tmp_path / "store.zarr", broken(MISTAKE), DATA)
    before = files(store)
    for arguments in (["--fix"], ["--fix", "--diff"]):
        assert cli.main(["check", str(store), *arguments]) == 1
        out = capsys.readouterr().out
        assert "--- a/grid/zarr.json\n+++ b/grid/zarr.json\n" in out
        assert f"{store}: 1 document to write, 1 mended, 0 left\n" in out
        assert files(store) == before
    assert cli.main(["check", str(store), "--write"]) == 2
    assert capsys.readouterr().err == "xgroup: --write goes with --fix\n"
    assert cli.main(["check", str(store), "--fix", "--write"]) == 0
    assert f"{store}: 1 document written, 1 mended, 0 left\n" in capsys.readouterr().out
    assert cli.main(["check", str(store)]) == 0
    assert cli.main(["check", str(store), "--fix"]) == 0


def test_the_command_gives_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits = {f"{GRID}/spatial:shape": [6, 4], f"{SET}/values": {}}
    store = write(tmp_path / "store.zarr", broken(edits), DATA)
    assert cli.main(["check", str(store), "--fix", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found == zarr_xgroup.mend(store).to_dict()
    assert [it["key"] for it in found["documents"]] == ["grid/zarr.json"]
    assert [it["rule"]["name"] for it in found["mended"]] == ["spatial/shape-of-the-array"]
    assert found["left"][0]["rule"]["name"] == "cs/values"
    assert found["left"][0]["why_not"]
