"""Which texts pyproj may be given: those that name no file, each judged by itself."""

import json

import pytest

from zarr_xgroup.conventions.crs import names_no_file


def projjson(method: str, **parameter: object) -> str:
    conversion = {"method": {"name": method}, "parameters": [{"name": "p", **parameter}]}
    return json.dumps({"type": "ProjectedCRS", "name": "R=1", "conversion": conversion})


def wkt(parameters: str) -> str:
    return f'PROJCS["m",EXTENSION["PROJ4","+proj=merc {parameters}"]]'


_ROTATED = "PROJ ob_tran o_proj=longlat"

NAMING_NO_FILE = {
    "spaces around a code": "\nEPSG:4326\n",
    "spaces before JSON": " \n" + projjson("Transverse Mercator", value=0),
    "a word": projjson(_ROTATED, value=0),
    "many digits": wkt("+R=" + 200 * "1"),
    "several lines": wkt("+R = 1\n+type =\n\tcrs\n"),
    "no grid": wkt("+nadgrids=@null +wktext"),
}

MAYBE_NAMING_A_FILE = {
    "parameters of PROJ": "+proj=longlat +datum=WGS84",  # which PROJ reads in ways of its own
    "JSON nested too deeply": '{"a":' + 100_000 * "[",
    # pyproj reads it all the same
    "JSON with a line break in a text": '{"proj": "longlat", "title": "\n", "nadgrids": "file"}',
    "the value of a parameter": projjson("NTv2", value="file"),
    "the name of a method": projjson("+proj=hgridshift +grids=file", value=0),
    "a method, and parameters in it": projjson(f"{_ROTATED} +grids=file", value=0),
    "the name of a member": json.dumps({"type": "ProjectedCRS", " +grids=file": 0}),
    "a parameter in capital letters": wkt("+GRIDS=12"),
    "a file of WKT 2": 'BOUNDCRS[METHOD["NTv2"],parameterFile["p","null"]]',
    "a file of WKT 1": 'VERT_DATUM["d",2005,EXTENSION["PROJ4_GRIDS","null"]]',
    "an unknown parameter": wkt("+tables=file"),
    "an unknown parameter, then a digit": wkt("+tables=1/file"),
    "a word, then a path": wkt("+ellps=a/file"),
    "a path": wkt("+ellps=/file"),
    "a word that is long": wkt("+ellps=" + 201 * "a"),
    "a number that is long": wkt("+R=" + 201 * "1"),
    "an equals sign in a value": wkt("+nadgrids=@null=12 +wktext"),
    "an equals sign in the first value": 'A["+nadgrids=@null=12 +proj=merc"]',
    "a space that is none to PROJ": wkt("+tables\xa0ellps=file"),
}


@pytest.mark.parametrize("kind", NAMING_NO_FILE)
def test_a_text_that_names_no_file(kind: str) -> None:
    assert names_no_file(NAMING_NO_FILE[kind])


@pytest.mark.parametrize("kind", MAYBE_NAMING_A_FILE)
def test_a_text_that_may_name_a_file(kind: str) -> None:
    assert not names_no_file(MAYBE_NAMING_A_FILE[kind])


#: Parameters of PROJ whose values are files, in one of its versions at least.
FILES = "catalog file geoidgrids grids init model nadgrids xy_grids z_grids"


@pytest.mark.parametrize("parameter", FILES.split())
def test_a_file_may_be_called_like_a_number_or_a_word(parameter: str) -> None:
    for value in ("12", "null", "a-1", "@12"):
        assert not names_no_file(wkt(f"+{parameter}={value}"))


WORDS = (
    "axis=neu datum=WGS84 ellps=GRS80 o_proj=longlat pm=lisbon proj=merc sweep=x title=it type=crs "
    "units=us-ft vunits=m lat_ts=-12.5 lon_0=10d30'E x_0=1e6, towgs84=1,2,3,4 R=6371229) k=.5"
)


@pytest.mark.parametrize("parameter", WORDS.split())
def test_numbers_and_words_are_no_files(parameter: str) -> None:
    assert names_no_file(wkt(f"+{parameter} +no_defs"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('LOCAL_CS["x"]', True),
        ("geogcs ( 'x' )", True),
        (" GEOGCS\n[\n]", True),
        ("WGS 84 (G1762) / UTM-32_N.1", True),
        ("http://www.opengis.net/def/crs/OGC/1.3/CRS84", True),
        ("4326", True),
        ('"GEOGCS[]', False),
        ("[x]", False),
        ("EPSG:4326+5773", True),
        ("EPSG:4326+proj", True),
        ("EPSG:4326+", False),
        ("EPSG:4326+init=file", False),
        ("+proj", False),
        ("@/etc/passwd", False),
        ("a\\b", False),
        ("", False),
    ],
)
def test_what_texts_look_like(text: str, expected: bool) -> None:
    assert names_no_file(text) is expected
