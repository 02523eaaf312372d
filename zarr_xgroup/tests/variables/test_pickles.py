"""Chunks that are pickles are not read, because that would run code from the store."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from zarr_xgroup.tests.builders import (
    Contents,
    Group,
    build,
    declaring,
    edit,
    stored,
    update,
    write_local,
)
from zarr_xgroup.tests.tables import check, rows

PICKLE = {"id": "pickle", "protocol": 5}
CODECS: dict[str, Any] = {
    "filter": {"filters": [PICKLE]},
    "one of several filters": {"filters": [{"id": "delta", "dtype": "<f8"}, PICKLE]},
    "compressor": {"compressor": PICKLE},
    "of objects": {"dtype": "|O", "fill_value": None, "filters": [PICKLE]},
}
UNSAFE = "has the codec 'pickle', which is not safe to read"


class Deed:
    """What makes a directory when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._place),)


def hostile(codecs: dict[str, Any], place: Path) -> Contents:
    nodes = Group({"x": stored([1.0, 2.0], "x"), "v": stored([3.0, 4.0], "x")})
    contents = edit(build(nodes, 2), "x/.zarray", update(**codecs))
    return {**contents, "x/0": pickle.dumps(Deed(place))}


@pytest.mark.parametrize("is_escaped", [False, True])
@rows(CODECS, "codecs")
def test_pickles_never_run(codecs: dict[str, Any], is_escaped: bool, tmp_path: Path) -> None:
    contents = hostile(codecs, tmp_path / "made")
    if is_escaped:
        contents["x/.zarray"] = contents["x/.zarray"].replace(b'"pickle"', b'"\\u0070ickle"')
    key = "compressor" if "compressor" in codecs else "filters"
    check(contents, f"v (x)\n! Metadata: /x: left out: {key!r} {UNSAFE}").load()
    assert not (tmp_path / "made").exists()


def test_pickles_of_other_stores_never_run(tmp_path: Path) -> None:
    other = write_local(hostile(CODECS["filter"], tmp_path / "made"), tmp_path / "other")
    values = {"external": {"uri": other.as_uri(), "node": "/x"}}
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"values": values}]}}}]}
    place = "/f#/attributes/cs/crs/0/axes/x/coordinates/0/values/external"
    expected = f"""
        f (x)
        ! Resolution: /f was opened without coordinate 'x': {place}: store {other.as_uri()}: /x: 'filters' {UNSAFE}
    """
    check(Group({"f": stored([1.0, 2.0], "x", **declaring("cs", cs=cs))}), expected).load()
    assert not (tmp_path / "made").exists()
