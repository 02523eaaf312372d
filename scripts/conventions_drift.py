"""Compare the descriptions of conventions with their published JSON Schemas, and print what differs.

    python scripts/conventions_drift.py DIRECTORY

The directory has the published schema of a convention as ``NAME.json`` or ``NAME/schema.json``, with the
names that `xgroup schema` knows. The exit code is 1 if anything differs, or if there is no schema at all.
Compared are keys, which of them are required, the kinds of values, and enumerations; not patterns and
numbers, nor what several members have to be together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import zarr_xgroup
from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.registry import declarable

#: What a schema says of each value, by the way to it: sets of words by what they are about.
Facts = Mapping[str, Mapping[str, set[str]]]

_ALTERNATIVES = ("anyOf", "oneOf", "allOf")


class _Reader:
    """Takes down what a schema says of each value.

    Parameters
    ----------
    schema : dict
        The schema; references in it are to parts of itself.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._whole = schema
        self.found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(
            lambda: defaultdict(set)
        )
        self._read(schema, "", (), is_sure=True)

    def _read(self, part: Any, way: str, refs: tuple[str, ...], *, is_sure: bool) -> None:
        """Take down a part; `is_sure` unless it is one of several alternatives."""
        if not isinstance(part, Mapping):
            return
        if (ref := part.get("$ref")) is not None and ref not in refs:
            self._read(self._at(ref), way, (*refs, ref), is_sure=is_sure)
        facts, kinds = self.found[way], part.get("type", ())
        facts["kinds"].update([kinds] if isinstance(kinds, str) else kinds)
        facts["values"].update(map(json.dumps, part.get("enum", ())))
        facts["values"].update(json.dumps(part[key]) for key in ("const",) if key in part)
        facts["keys"].update(part.get("properties", ()))
        facts["required"].update(part.get("required", ()) if is_sure else ())
        for key in _ALTERNATIVES:
            for it in part.get(key, ()):
                self._read(it, way, refs, is_sure=is_sure and key == "allOf")
        for name, it in _inner(part):
            self._read(it, f"{way}/{name}", refs, is_sure=True)

    def _at(self, ref: str) -> Any:
        """Return what a reference leads to."""
        part: Any = self._whole
        for key in ref.removeprefix("#").strip("/").split("/"):
            part = part[key] if key else part
        return part


def _inner(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a schema that are about members and items, with what they are called."""
    yield from part.get("properties", {}).items()
    yield from (("*", it) for it in part.get("patternProperties", {}).values())
    yield "*", part.get("additionalProperties")
    yield "[]", part.get("items")


def of_attributes(schema: Mapping[str, Any]) -> Facts:
    """Return what a schema says of attributes; one of whole documents, of the attributes in these."""
    found = _Reader(schema).found
    prefix = "/attributes" if "attributes" in found[""]["keys"] else ""
    return {way[len(prefix) :]: facts for way, facts in found.items() if way.startswith(prefix)}


def differences(ours: Facts, published: Facts) -> Iterator[str]:
    """Yield what differs, as lines, of the values that both know."""
    for way in sorted(ours.keys() & published.keys()):
        for about in ("keys", "required", "kinds", "values"):
            here, there = (facts[way].get(about, set()) for facts in (ours, published))
            if way == "" and about == "keys":
                there = there - {CONVENTIONS_KEY}  # it has a description of its own
            for words, where in ((there - here, "published"), (here - there, "described")):
                if words:
                    yield f"{way or '/'}: {about} only {where}: {', '.join(sorted(words))}"


def main() -> int:
    """Print the differences; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", type=Path, help="the published schemas")
    directory = parser.parse_args().directory
    names = [*(it.name for it in declarable() if it.described), CONVENTIONS_KEY]
    files = {it: (directory / f"{it}.json", directory / it / "schema.json") for it in names}
    found = {name: next((it for it in files[name] if it.is_file()), None) for name in names}
    told = 0
    for name, file in found.items():
        if file is not None:
            published = of_attributes(json.loads(file.read_text(encoding="utf-8")))
            for line in differences(of_attributes(zarr_xgroup.schema(name)), published):
                told += 1
                print(f"{name}: {line}")
    print(f"compared: {', '.join(name for name in names if found[name]) or 'nothing'}")
    return 1 if told or not any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
