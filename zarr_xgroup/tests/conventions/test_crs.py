"""Coordinate reference systems: their attributes, their equality, and the texts that pyproj may parse."""

import json
import re
from typing import Any

import pyproj
import pytest

from zarr_xgroup.conventions.crs import (
    Crs,
    cf_length,
    crs_in,
    is_geographic,
)
from zarr_xgroup.conventions.crs_texts import names_no_file
from zarr_xgroup.tests.tables import rows


def wkt(system: Any, version: str = "WKT2_2019") -> str:
    text = pyproj.CRS(system).to_wkt(version)
    assert text is not None
    return text


def without_codes(text: str) -> str:
    return re.sub(r',(AUTHORITY|ID)\["\w+","?\w+"?\]', "", text)


def json_of(system: Any, *keys: str | int, value: Any = None) -> str:
    """Return the PROJJSON of a system, with one part of it, if any is named, replaced."""
    described: Any = pyproj.CRS(system).to_json_dict()
    part = described
    for key in keys[:-1]:
        part = part[key]
    if keys:
        part[keys[-1]] = value
    return json.dumps(described)


DEGREES = wkt(4326, "WKT1_GDAL")
UTM = wkt(32633, "WKT1_GDAL")
UTM_AXES = 'AXIS["Easting",EAST],AXIS["Northing",NORTH]'
POLAR = wkt(3031)
ROTATED = "+proj=ob_tran +o_proj=longlat +o_lon_p=0 +o_lat_p=39.25 +lon_0=18 +type=crs"
ROTATED = wkt(ROTATED).replace('"unnamed"', '"Rotated pole"', 1)

LON_LAT = (
    "longitude degrees_east (longitude coordinate), latitude degrees_north (latitude coordinate)"
)
GRID_LON_LAT = "grid_longitude degrees (longitude in rotated pole grid), grid_latitude degrees (latitude in rotated pole grid)"


def planar(x: str = "Easting", y: str = "Northing", unit: str = "m") -> str:
    return f"projection_x_coordinate {unit} ({x}), projection_y_coordinate {unit} ({y})"


#: Texts, each with its name and code, and with the standard_name, units and long_name of its axes along X and Y.
SYSTEMS = {
    "a code": ("EPSG:4326", "WGS 84, EPSG:4326, geographic, north first", LON_LAT),
    "a code of OGC": ("OGC:CRS84", "WGS 84 (CRS84), OGC:CRS84, geographic", LON_LAT),
    "a URL": ("http://www.opengis.net/def/crs/EPSG/0/4326", "WGS 84, EPSG:4326, geographic, north first", LON_LAT),
    "WKT 1": (DEGREES, "WGS 84, EPSG:4326, geographic, north first", LON_LAT),
    "WKT 2, spaces": ("\n  " + wkt(4326).replace("[", " ["), "WGS 84, EPSG:4326, geographic, north first", LON_LAT),
    "with one above the sea": ("EPSG:7405", "OSGB36 / British National Grid + ODN height, EPSG:7405", planar()),
    "a height alone": ("EPSG:5773", "EGM96 height, EPSG:5773", ""),
    "a time": ('TIMECRS["t",TDATUM["t"],CS[TemporalDateTime,1],AXIS["t",future]]', "t, no code: t, WKT alone", ""),
    "geocentric": (wkt(4978), "WGS 84, EPSG:4978, WKT alone", ""),
    "a rotated pole": (ROTATED, "Rotated pole, no code: Rotated_pole", GRID_LON_LAT),
    "names that pyproj does not know": (UTM.replace('"Easting"', '"X"').replace('"Northing"', '"Y"'), "WGS 84 / UTM zone 33N, EPSG:32633", planar()),
    "degrees as ESRI writes them": (wkt(4326, "WKT1_ESRI"), "WGS 84, EPSG:4326, geographic", LON_LAT),
    "X and Y in no direction": (
        without_codes(UTM.replace(UTM_AXES, 'AXIS["X",OTHER],AXIS["Y",OTHER]')),
        "WGS 84 / UTM zone 33N, no code: WGS_84_UTM_zone_33N",
        "",
    ),
    "a projection without one of its parameters": (
        UTM.replace('PARAMETER["latitude_of_origin",0],', ""),
        "WGS 84 / UTM zone 33N, EPSG:32633, WKT alone",
        planar(),
    ),
    "north first": ("EPSG:3035", "ETRS89-extended / LAEA Europe, EPSG:3035, north first", planar()),
    "south first": ("EPSG:5513", "S-JTSK / Krovak, EPSG:5513, north first, WKT alone", ""),
    "west first": ("EPSG:2053", "Hartebeesthoek94 / Lo29, EPSG:2053, WKT alone", ""),
    "grads": ("EPSG:4902", "NDG (Paris), EPSG:4902, geographic, north first", LON_LAT.replace(" degrees_east", "").replace(" degrees_north", "")),
    "both axes to the north": (POLAR, "WGS 84 / Antarctic Polar Stereographic, EPSG:3031, north first", planar()),
    "survey feet": ("EPSG:2263", "NAD83 / New York Long Island (ftUS), EPSG:2263", planar(unit="US_survey_foot")),
    "Indian yards": ("EPSG:24382", "Kalianpur 1880 / India zone IIb, EPSG:24382", planar(unit="0.914398530744441 m")),
    "a mercator with @null": (wkt(3857, "WKT1_GDAL"), "WGS 84 / Pseudo-Mercator, EPSG:3857, WKT alone", planar()),
}  # fmt: skip


@rows(SYSTEMS, "text, system, axes")
def test_attributes_of_a_crs(text: str, system: str, axes: str) -> None:
    crs = Crs("proj:code", text)
    assert crs.is_understood
    assert crs.variable_name == crs.code.replace(":", "_") if crs.code else crs.variable_name
    grid_mapping = crs.grid_mapping()
    assert grid_mapping["spatial_ref"] == grid_mapping["crs_wkt"]
    traits = [
        crs.title,
        crs.code or f"no code: {crs.variable_name}",
        *(["geographic"] if crs.is_geographic else []),
        *(["north first"] if crs.is_north_first else []),
        *(["WKT alone"] if len(grid_mapping) == 2 else []),
    ]
    assert ", ".join(traits) == system
    found = crs.axis_attributes()
    texts = []
    for axis in "XY":
        assert found[axis].pop("axis") == axis
        long_name = found[axis].pop("long_name", None)
        texts += [" ".join([*found[axis].values(), f"({long_name})"])] if long_name else []
    assert ", ".join(texts) == axes


#: Texts that pyproj does not understand, each with the name that a grid mapping variable of it would have.
NOT_UNDERSTOOD: dict[str, Any] = {
    "an unknown code": ("EPSG:0", "EPSG_0"),
    "other text": ("(no CRS)", "no_CRS"),
    "long text": ("[" + "x" * 50, "x" * 39),
    "no Unicode": ('GEOGCS["\ud800"]', "GEOGCS"),
    "an unknown type": ('{"type": "GeographicCRSs"}', "type_GeographicCRSs"),
    "PROJJSON whose axes have no unit": (re.sub(r', "unit": (\{[^{}]*\}|"\w+")\}', "}", json_of(32633)), None),
    "a zero byte in a name": (json_of(32633, "name", value="WGS 84\0 / UTM"), None),
    "a zero byte in a remark": (json_of(32633, "remarks", value="a\0b"), None),
    "a zero byte in an area": (json_of(4326, "area", value="\0"), None),
    "a zero byte behind a code": ("EPSG:4326\0:1", None),
    "a zero byte in a component": (json_of(7415, "components", 0, "area", value="\0"), None),
}  # fmt: skip


@rows(NOT_UNDERSTOOD, "text, name")
def test_a_text_that_pyproj_cannot_parse_is_unchanged(text: str, name: Any) -> None:
    crs = Crs("proj:code", text)
    assert [crs.is_understood, crs.is_geographic, crs.is_north_first] == 3 * [False]
    assert (crs.title, crs.code) == (text, None)
    assert name in (crs.variable_name, None)
    assert crs.grid_mapping() == {"proj:code": text}
    assert crs.axis_attributes() == {"X": {"axis": "X"}, "Y": {"axis": "Y"}}


UTM_33N = "EPSG:32633"
WITHOUT_CODES = without_codes(UTM)
FEET = 'UNIT["US survey foot",0.3048006096012192]'


def shifted(x: int, more: str = "") -> str:
    return wkt(f"+proj=utm +zone=30 +ellps=intl +towgs84={x},-98,-121 {more}+type=crs")


#: Two texts, and whether they are the same CRS; None: one of them is not understood.
PAIRS = {
    "one code": ("EPSG:4326", "EPSG:4326", True),
    "one text that is not understood": ("EPSG:0", "EPSG:0", True),
    "another order of axes, with another code": ("EPSG:4326", "OGC:CRS84", None),
    "a code and WKT 1": (UTM_33N, UTM, True),
    "a code and WKT 1 without codes": (UTM_33N, WITHOUT_CODES, True),
    "another name": (UTM_33N, WITHOUT_CODES.replace("UTM zone 33N", "mine"), True),
    "another zone": (UTM_33N, "EPSG:32632", False),
    "another ellipsoid": (UTM_33N, WITHOUT_CODES.replace("6378137", "6378000"), False),
    "another unit": (UTM_33N, WITHOUT_CODES.replace('UNIT["metre",1]', FEET), False),
    "another shift": (shifted(-87), shifted(-84), False),
    "other kinds": (ROTATED, "EPSG:4978", False),
    "one that is not understood": ("EPSG:4326", "EPSG:0", None),
}  # fmt: skip


@rows(PAIRS, "text, other, is_same")
def test_equality_of_crss(text: str, other: str, is_same: bool | None) -> None:
    one, two = Crs("proj:code", text), Crs("crs_wkt", other)
    for pair in ((one, two), (two, one)):
        assert pair[0].is_same(pair[1]) is (is_same is True)
        assert pair[0].differs(pair[1]) is (is_same is False)


@pytest.mark.parametrize("code", [2193, 3035, 31467, 32633])
def test_a_crs_is_the_same_however_it_is_written(code: int) -> None:
    system, other = Crs("proj:code", f"EPSG:{code}"), Crs("proj:code", "EPSG:32634")
    texts = [wkt(code, it) for it in ("WKT2_2015", "WKT2_2019", "WKT1_GDAL", "WKT1_ESRI")]
    for crs in (Crs("proj:wkt2", text) for text in (*texts, json_of(code))):
        assert crs.is_same(system)
        assert crs.differs(other)


#: Members of `proj`, and the CRSs that are read from them, the most explicit first.
IDENTITIES: dict[str, Any] = {
    "WKT before a code": ({"proj:code": "EPSG:4326", "proj:wkt2": UTM}, [("proj:wkt2", UTM), ("proj:code", "EPSG:4326")], False),
    "a number of EPSG": ({"proj:epsg": 4326}, [("proj:epsg", "EPSG:4326")], True),
    "an object": ({"proj:projjson": {"b": 1, "a": 2}}, [("proj:projjson", '{"a": 2, "b": 1}')], False),
    "null": ({"proj:projjson": None, "proj:code": "OGC:CRS84"}, [("proj:code", "OGC:CRS84")], True),
    "other types": ({"proj:code": True, "proj:wkt2": " ", "proj:epsg": 1.5, "code": "EPSG:4326"}, [], False),
}  # fmt: skip


@rows(IDENTITIES, "members, expected, geographic")
def test_crss_from_members_of_proj(members: Any, expected: Any, geographic: bool) -> None:
    assert [(crs.key, crs.text) for crs in crs_in(members)] == expected
    assert is_geographic(members) is geographic
    for name in ("WGS84", "wgs 84"):  # which counts only where no member says a CRS
        assert is_geographic(members, name) is (geographic or not expected)


LENGTHS = {
    **dict.fromkeys(("metre", "Meter", " METRES ", "1.0 metre"), "m"),
    "1000 metre": "km",
    "0.3048 metre": "foot",
    "US survey foot": "US_survey_foot",
    **{name: name for name in ("degrees_east", "km", "", "per metre")},
}


@pytest.mark.parametrize(("unit", "expected"), LENGTHS.items())
def test_units_of_length_have_their_names_in_udunits(unit: str, expected: str) -> None:
    assert cf_length(unit) == expected


# Texts that may name a file are not given to pyproj.


def method(name: str, **parameter: object) -> str:
    """Return PROJJSON of a projection by a method, with one parameter."""
    conversion = {"method": {"name": name}, "parameters": [{"name": "p", **parameter}]}
    return json.dumps({"type": "ProjectedCRS", "name": "R=1", "conversion": conversion})


def extension(parameters: str) -> str:
    return f'PROJCS["m",EXTENSION["PROJ4","+proj=merc {parameters}"]]'


WORDS = (
    "axis=neu datum=WGS84 ellps=GRS80 o_proj=longlat pm=lisbon proj=merc sweep=x title=it type=crs "
    "units=us-ft vunits=m lat_ts=-12.5 lon_0=10d30'E x_0=1e6, towgs84=1,2,3,4 R=6371229) k=.5"
)
NAMING_NO_FILE = [
    "\nEPSG:4326\n", "EPSG:4326+5773", "EPSG:4326+proj", "4326", "WGS 84 (G1762) / UTM-32_N.1",
    "http://www.opengis.net/def/crs/OGC/1.3/CRS84", 'LOCAL_CS["x"]', "geogcs ( 'x' )", " GEOGCS\n[\n]",
    " \n" + method("Transverse Mercator", value=0), method("PROJ ob_tran o_proj=longlat", value=0),
    extension("+R=" + 200 * "1"), extension("+R = 1\n+type =\n\tcrs\n"), extension("+nadgrids=@null +wktext"),
    without_codes(DEGREES).replace("WGS 84", "sphere (R=6371229)"), wkt("+proj=longlat +ellps=bessel +towgs84=1,2,3,4,5,6,7"),
    wkt("+proj=geos +h=35786023 +lon_0=-75 +sweep=x +ellps=GRS80 +type=crs", "WKT1_GDAL"),
    *(extension(f"+{word} +no_defs") for word in WORDS.split()),
]  # fmt: skip


@pytest.mark.parametrize("text", NAMING_NO_FILE)
def test_a_text_that_names_no_file(text: str) -> None:
    assert names_no_file(text)


NULL_GRID = pyproj.CRS("+proj=longlat +ellps=bessel +nadgrids=@null +type=crs")
MERCATOR = wkt(3857, "WKT1_GDAL").replace("+nadgrids=@null", "{}")
HGRIDSHIFT = "PROJ-based operation method: +proj=pipeline +step +proj=hgridshift"

#: Parameters of PROJ whose values are files, in one of its versions at least.
FILES = "catalog file geoidgrids grids init model nadgrids xy_grids z_grids"
#: Texts that may name a <file>; which of them PROJ opens differs between its versions.
MAYBE_NAMING_A_FILE = {
    "nothing": "",
    "parameters of PROJ": "+proj=longlat +datum=WGS84",  # which PROJ reads in ways of its own
    "a path": "@/etc/<file>",
    "brackets alone": "[x]",
    "WKT in a quote": '"GEOGCS[]',
    "init": "+init=<file>:key",
    "pipeline": "+proj=pipeline +step +proj=hgridshift +grids=<file>",
    "grids after a code": "epsg:4326 +nadgrids=<file>",
    "parameters as JSON": '{"proj": "longlat", "nadgrids": "<file>"}',
    "init as JSON": '{"init": "<file>:key"}',
    "JSON with a line break": '{"proj": "longlat", "title": "\n", "nadgrids": "<file>"}',
    "bound WKT": NULL_GRID.to_wkt().replace("@null", "<file>"),
    "a parameter of PROJJSON": method("NTv2", value="<file>"),
    "a method of PROJJSON": method("+proj=hgridshift +grids=<file>", value=0),
    "a member of PROJJSON": json.dumps({"type": "ProjectedCRS", " +grids=<file>": 0}),
    "parameter file of WKT 2": 'BOUNDCRS[METHOD["NTv2"],parameterFile["p","<file>"]]',
    "grids of a datum": 'VERT_DATUM["d",2005,EXTENSION["PROJ4_GRIDS","<file>"]]',
    "doubled quotes": MERCATOR.format('+nadgrids=@null"",<file> +wktext'),
    "a space that is none to PROJ": MERCATOR.format("+nadgrids=@null\xa0,<file> +wktext"),
    "an equals sign more": MERCATOR.format("+nadgrids=@null=,<file> +wktext"),
    "method with spaces": f'PROJCRS["m",CONVERSION["c",METHOD["{HGRIDSHIFT} +grids = <file>"]]]',
    "a parameter in capital letters": extension("+GRIDS=<file>"),
    "an unknown parameter": extension("+tables=file"),
    "a word, then a path": extension("+ellps=a/<file>"),
    "a long word": extension("+ellps=" + 201 * "a"),
    # Files may be called like a number or a word.
    **{
        f"{parameter}={value}": extension(f"+{parameter}={value}")
        for parameter in FILES.split()
        for value in ("12", "null", "a-1", "@12")
    },
}  # fmt: skip


@rows(MAYBE_NAMING_A_FILE, "text")
def test_pyproj_is_given_no_text_that_may_name_a_file(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarr_xgroup.conventions.crs._pyproj", lambda: pytest.fail("handed over"))
    for name in ("/path/to/file", "file", "12"):
        crs = Crs("crs_wkt", text.replace("<file>", name))
        assert not names_no_file(crs.text)
        assert crs.grid_mapping() == {"crs_wkt": crs.text}


@pytest.mark.parametrize("part", ["a", " ", "=1", '""'])
@pytest.mark.parametrize("frame", ["{}", 'A["{}"]', '{{"a": {}}}'])
def test_long_texts_are_parsed_quickly(part: str, frame: str) -> None:
    text = part * 20_000  # compared letter by letter with the rest of it: minutes
    names_no_file(frame.format(json.dumps(text) if frame.startswith("{{") else text))
