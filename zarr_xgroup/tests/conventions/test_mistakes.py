"""Mistakes in metadata that would otherwise go unnoticed: their effect on opening, and the warning for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import zarr_xgroup
from zarr_xgroup.tests.builders import Json, Nodes, declaring, stored
from zarr_xgroup.tests.tables import outcome, rows, store_of

# cs: an array of 3 x 4 along lat and lon, and 1-D arrays v1, v3, v4.


def with_cs(cs: Any) -> Nodes:
    """Return a store with an array that has a cs, and arrays of three lengths."""
    others = {f"v{n}": stored(np.arange(float(n)), f"n{n}") for n in (1, 3, 4)}
    return {"": {}, "a": stored(np.zeros((3, 4)), "lat lon", **declaring("cs", cs=cs)), **others}


def axis(values: Any = None, **more: Any) -> Json:
    """Return an axis with one coordinate set; its values count from 0 where nothing else is said."""
    return {"coordinates": [{"values": values or {"regular": [0, 1]}, **more}]}


def axes(**found: Any) -> Json:
    """Return a cs of one CRS with an axis lon, and others."""
    return {"crs": [{"axes": {"lon": axis(), **found}}]}


def timed(**time: Any) -> Json:
    """Return a cs whose axis lat has days, of which something else is said."""
    known = {} if "reference" in time else {"unit": "days", "epoch": "2000-01-01"}
    return axes(lat=axis(time={**known, **time}))


BOTH = {"lat": axis(), "lon": axis()}
AXES = "/a#/attributes/cs/crs/0/axes"
SET = f"{AXES}/lat/coordinates/0"
NOT_KNOWN = "is unknown; did you mean"
ANYTHING = {"description": "d", "name": "n", "comment": "c", "note": [1]}
WITHOUT_TIME = f"'time' of axis 'lat': {SET}/time"
NO_DATE = "must be an ISO 8601 date and time (such as 2028-02-01T00:00:00), got"
NO_DIMENSION = "has regular values, but is not a dimension of the array (lat, lon); a scalar coordinate needs its value in 'explicit'"  # fmt: skip
OF_3 = "'v3' cannot be resolved; tried /v3 (its shape is [3], but axis 'latt' needs [1]), /a/v3 (not found in store)"  # fmt: skip
NO_CRS = 'must be a proj object such as {"proj:code": "EPSG:4326"}, got string "EPSG:4326"'
LEFT = "; the times are not decoded"

#: A cs, the coordinates that it gives all the same, and what the array was opened without.
IN_CS: dict[str, tuple[Any, str, str]] = {
    "regular values along no dimension": (
        axes(latt=axis()), "lon", f"coordinate 'latt': {AXES}/latt: {NO_DIMENSION}"),
    "an axis with another name of the dimension": (
        axes(latitude=axis()), "lon", f"coordinate 'latitude': {AXES}/latitude: {NO_DIMENSION}"),
    "an axis of a list with another name of the dimension": (
        {"crs": [{"axes": [{"name": "lon", **axis()}, {"name": "latitude", **axis()}]}]}, "lon",
        f"coordinate 'latitude': {AXES}/1: {NO_DIMENSION}"),
    "an axis that is not meant for the dimension": (
        axes(height=axis()), "lon", f"coordinate 'height': {AXES}/height: {NO_DIMENSION}"),
    "an array along no dimension": (
        axes(latt=axis({"external": {"node": "v3"}})), "lon",
        f"coordinate 'latt': {AXES}/latt/coordinates/0/values/external: {OF_3}"),
    "a set without values is not one of many": (
        axes(latt={"coordinates": [{}]}), "lon", f"coordinate 'latt': {AXES}/latt/coordinates/0/values: is missing"),
    "scalar coordinates are not a mistake": (
        axes(lat=axis(), height=axis({"explicit": [2]}), z=axis({"external": {"node": "v1"}}), nothing={}), "height lat lon v1 z", ""),
    "also where an axis is missing": (axes(height=axis({"explicit": [2]})), "height lon", ""),
    "misspelt coordinates, without positions": (
        axes(lat={"coordinate": []}), "lon", f"coordinate 'lat': {AXES}/lat/coordinate: {NOT_KNOWN} 'coordinates'?"),
    "misspelt unit": (axes(lat=axis(units="m")), "lat lon", f"'units' of axis 'lat': {SET}/units: {NOT_KNOWN} 'unit'?"),
    "misspelt epoch": (
        axes(lat=axis(time={"unit": "days", "epochs": "2000-01-01"})), "lat lon", f"{WITHOUT_TIME}/epochs: {NOT_KNOWN} 'epoch'?"),
    "misspelt crs": ({"CRS": axes()["crs"]}, "", f"the metadata in 'cs/CRS': /a#/attributes/cs/CRS: {NOT_KNOWN} 'crs'?"),
    "misspelt axes": (
        {"crs": [{"axis": BOTH}]}, "", f"the metadata in 'cs/crs/0/axis': /a#/attributes/cs/crs/0/axis: {NOT_KNOWN} 'axes'?"),
    "an id that is text": (
        {"crs": [{"axes": BOTH, "id": "EPSG:4326"}]}, "lat lon", f"the metadata in 'cs/crs/0/id': /a#/attributes/cs/crs/0/id: {NO_CRS}"),
    "an axis without a name costs itself": (
        {"crs": [{"axes": [{"name": "lat", **axis()}, {"name": 7, **axis()}]}]}, "lat",
        f"the metadata in 'cs/crs/0/axes/1': {AXES}/1: must have a 'name'"),
    "other unknown keys are left alone": (
        {**ANYTHING, "crs": [{**ANYTHING, "type": "planar", "axes": {"lon": axis(), "lat": {
            **ANYTHING, "coordinates": [{**ANYTHING, **axis()["coordinates"][0]}]}}}]}, "lat lon", ""),
    "an epoch that may mean one of two days": (timed(epoch="01.02.2028"), "lat lon", f"{WITHOUT_TIME}/epoch: {NO_DATE} '01.02.2028'{LEFT}"),
    "a reference that may mean one of two days": (
        timed(reference="days since 01-02-2028"), "lat lon", f"{WITHOUT_TIME}/reference: {NO_DATE} 'days since 01-02-2028'{LEFT}"),
    "a month that is none": (timed(epoch="2020-13-01"), "lat lon", f"{WITHOUT_TIME}/epoch: {NO_DATE} '2020-13-01'{LEFT}"),
}  # fmt: skip


@rows(IN_CS, "cs, coords, lost")
def test_mistakes_in_cs(cs: Any, coords: str, lost: str) -> None:
    dataset, told = outcome(with_cs(cs), only="")
    assert sorted(dataset.coords) == coords.split()
    assert told == ([f"! Resolution: /a was opened without {lost}"] if lost else [])


#: What is said of a time, which cannot be decoded by it: where a check tells it, and why.
UNDECODED: dict[str, tuple[Json, str, str]] = {
    "a day that the calendar does not have": (
        {"epoch": "2020-02-29", "calendar": "NoLeap"}, "epoch", "the calendar 'NoLeap' has no such day: \"2020-02-29 00:00:00\""),
    "a day that no month has": (
        {"reference": "days since 2020-02-30"}, "reference", "the calendar 'standard' has no such day: \"2020-02-30 00:00:00\""),
    "months": ({"unit": "months"}, "unit", '"months" is not a unit in which times can be decoded'),
    "an unknown calendar": ({"calendar": "nope"}, "calendar", "'nope' is not a calendar in which times can be decoded"),
}  # fmt: skip


@rows(UNDECODED, "time, key, reason")
def test_times_that_cannot_be_decoded(time: Json, key: str, reason: str) -> None:
    store = store_of(with_cs(timed(**time)))
    for decode_times in (True, False):
        dataset, (told,) = outcome(store, only="", decode_times=decode_times)
        before, _brackets, text = told.partition("'lat' were not added (")
        assert before == "! Metadata: /a: the units and calendar of its coordinate "
        assert text.endswith(f"): {reason}")
        assert dataset["lat"].values.tolist() == [0, 1, 2]
        assert dataset["lat"].attrs == {"standard_name": "time"}
    text = told.removeprefix("! Metadata: /a: ")
    assert text in [it.text for it in zarr_xgroup.explain(store).problems]
    mistakes = {it.place.pointer: it.severity for it in zarr_xgroup.check(store).mistakes}
    assert mistakes[f"{SET.removeprefix('/a#')}/time/{key}"] == "error"


# One cause in several arrays.


def beside(*groups: str, node: str, **more: Any) -> Nodes:
    """Return a store with arrays `v` of groups that refer to a node above, whose path leads to one in the group, too."""
    lat, wrong = stored(np.zeros(3), "y"), declaring("ref", ref={"of": {"node": node, **more}})
    path, nodes = node.removeprefix("../"), dict[str, Any]({"": {}, "all": {}})
    nodes |= {"all/c": {}, f"all/{path}": lat}
    for group in groups:
        nodes |= {f"all/{group}": {}, f"all/{group}/c": {}, f"all/{group}/{path}": lat}
        nodes[f"all/{group}/v"] = stored(np.zeros(3), "y", **wrong)
    return nodes


OF, LAT = "/all/g/v#/attributes/ref/of", "'../c/lat' was resolved to"
NOTHING = "(there is no value at #/attributes/units)"
NOWHERE = f"'../lat#/attributes/units' cannot be resolved; tried ../lat {NOTHING}, lat {NOTHING}"
LOST = "were opened without the target of 'ref'"
#: Stores, and the only warning of their trees.
IN_TREES: dict[str, tuple[Nodes, str]] = {
    "a choice in like groups is one": (
        beside("g", "h", "i", node="../c/lat"),
        f"/all/g/v, /all/h/v, /all/i/v: {OF} and 2 more: {LAT} ../c/lat, not to c/lat (which fits too)",
    ),
    "in one group it names paths in full": (
        beside("g", node="../c/lat"),
        f"{OF}: {LAT} /all/c/lat, not to /all/g/c/lat (which fits too)",
    ),
    "pointers are not paths of nodes, whatever their names": (
        beside("attributes", "units", node="../lat", attribute="/attributes/units"),
        f"/all/attributes/v, /all/units/v {LOST}: /all/attributes/v#/attributes/ref/of and 1 more: {NOWHERE}",
    ),
}


@rows(IN_TREES)
def test_one_cause_is_one_warning(nodes: Nodes, expected: str) -> None:
    lines = outcome(nodes, only="", function=xr.open_datatree)[1]
    assert [it for it in lines if it[0] == "!"] == [f"! Resolution: {expected}"]
