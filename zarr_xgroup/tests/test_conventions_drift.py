"""Published schemas that differ from descriptions: the script that tells it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import zarr_xgroup
from zarr_xgroup.tests.builders import Json
from zarr_xgroup.tests.documents import script


def told(folder: Path, schemas: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return the exit code of the script for a directory of schemas."""
    for path, schema in schemas.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(schema), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["conventions_drift.py", str(folder)])
    code: int = script("conventions_drift").main()
    return code


def test_what_is_published_as_described_does_not_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = {"type": "object", "properties": {"attributes": zarr_xgroup.schema("spatial")}}
    schemas = {"cs.json": zarr_xgroup.schema("cs"), "spatial/schema.json": whole}
    assert told(tmp_path, schemas, monkeypatch) == 0
    assert capsys.readouterr().out == "compared: cs, spatial\n"


def test_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = zarr_xgroup.schema("uom")
    uom, ucum = published["$defs"]["Uom"], published["$defs"]["Ucum"]
    uom["required"] = ["ucum", "description"]
    uom["properties"]["description"] = {"enum": ["mass"]}
    ucum["properties"]["system"] = {"type": "string"}
    del ucum["properties"]["version"]
    assert told(tmp_path, {"uom.json": published}, monkeypatch) == 1
    lines = set(capsys.readouterr().out.splitlines())
    assert {
        "uom: /uom/description: kinds only described: string",
        'uom: /uom/description: values only published: "mass"',
        "uom: /uom/ucum: keys only published: system",
        "uom: /uom/ucum: keys only described: version",
    } <= lines


def test_what_is_required_by_one_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = zarr_xgroup.schema("dggs")
    published["$defs"]["Dggs"]["required"] = ["name", "compression"]
    assert told(tmp_path, {"dggs.json": published}, monkeypatch) == 1
    assert capsys.readouterr().out.splitlines()[:2] == [
        "dggs: /dggs: required only published: compression",
        "dggs: /dggs: required only described: refinement_level, spatial_dimension",
    ]


def test_a_directory_without_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(tmp_path, {}, monkeypatch) == 1
