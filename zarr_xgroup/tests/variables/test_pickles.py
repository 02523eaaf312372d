"""Chunks that are pickles are not read: that would run what somebody else has written."""

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from zarr_xgroup import XGroupMetadataError, XGroupMetadataWarning
from zarr_xgroup.tests.builders import (
    Array,
    Contents,
    Group,
    build,
    declaring,
    edit,
    memory_store,
    opened_with_warnings,
    update,
)

PICKLE = {"id": "pickle", "protocol": 5}
CODECS: dict[str, dict[str, Any]] = {
    "filter": {"filters": [PICKLE]},
    "one of several filters": {"filters": [{"id": "delta", "dtype": "<f8"}, PICKLE]},
    "compressor": {"compressor": PICKLE},
    "of objects": {"dtype": "|O", "fill_value": None, "filters": [PICKLE]},
}


class Deed:
    """What makes a directory when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._place),)


def hostile(codecs: dict[str, Any], place: Path) -> Contents:
    contents = edit(
        build(Group({"x": Array([1.0, 2.0], ("x",)), "v": Array([3.0, 4.0], ("x",))}), 2),
        "x/.zarray",
        update(**codecs),
    )
    return {**contents, "x/0": pickle.dumps(Deed(place))}


@pytest.mark.parametrize("codecs", CODECS.values(), ids=CODECS)
@pytest.mark.parametrize("is_escaped", [False, True])
def test_pickles_never_run(codecs: dict[str, Any], is_escaped: bool, tmp_path: Path) -> None:
    contents = hostile(codecs, tmp_path / "made")
    if is_escaped:
        contents["x/.zarray"] = contents["x/.zarray"].replace(b'"pickle"', b'"\\u0070ickle"')
    for function in (xr.open_dataset, xr.open_datatree):
        opened, (warning,) = opened_with_warnings(function, memory_store(contents))
        opened.load()
        assert set(opened.variables) == {"v"}
        assert isinstance(warning, XGroupMetadataWarning)
        assert isinstance(warning.error, XGroupMetadataError)
        assert "has the codec 'pickle', which is not safe to read" in str(warning)
    assert not (tmp_path / "made").exists()


def test_pickles_of_other_stores_never_run(tmp_path: Path) -> None:
    other = tmp_path / "other"
    for key, content in hostile(CODECS["filter"], tmp_path / "made").items():
        (other / key).parent.mkdir(parents=True, exist_ok=True)
        (other / key).write_bytes(content)
    axis = {"coordinates": [{"values": {"external": {"uri": other.as_uri(), "node": "/x"}}}]}
    field = Array([1.0, 2.0], ("x",), declaring("cs", cs={"crs": [{"axes": {"x": axis}}]}))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"f": field}))))
    dataset.load()
    assert "x" not in dataset.variables
    assert "has the codec 'pickle'" in str(told[0])
    assert not (tmp_path / "made").exists()
