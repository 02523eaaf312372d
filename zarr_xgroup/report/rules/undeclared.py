"""Arrays that declare no convention: the causes why they have no coordinates, and declarations that would give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zarr_xgroup.conventions.axes import rows_and_columns
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf import CfHandler, remedy_for_unused
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.spatial import DIMENSIONS, REQUIRED, SpatialHandler
from zarr_xgroup.datasets.undeclared import Undeclared
from zarr_xgroup.findings import OPEN_RULES, Finding, Topic, new_finding
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.report.rules.checked import CheckedStore
from zarr_xgroup.variables.functions import Regular
from zarr_xgroup.variables.sources import Computed, Stored

#: The conventions whose attributes zarr-cm writes.
_WRITTEN_BY_ZARR_CM = (SpatialHandler.name, ProjHandler.name)


def check_causes(arrays: Iterable[Undeclared], checked: CheckedStore) -> Iterator[Finding]:
    """Yield the causes why arrays have no coordinates: ``spatial:dimensions`` is missing, or arrays cannot be used.

    Unreadable documents in checked groups are left out, because opening reports them.
    """
    for array in arrays:
        if array.missing is not None:
            place, attribute = array.missing
            subject = checked.node(array.node.path)
            dims = None if subject is None else rows_and_columns(subject)
            remedy = write(DIMENSIONS.key, dims or ["y", "x"])
            yield new_finding(
                REQUIRED, place, f"is missing, so {attribute} gives no coordinates", remedy
            )
        for node, reason in array.unused:
            is_unreadable = checked.tree.problem(node) is not None
            if not (is_unreadable and node.group in checked.groups):
                rule = OPEN_RULES[Topic.METADATA if is_unreadable else Topic.DIMENSION]
                text, remedy = (
                    f"opens without coordinates: {reason}",
                    remedy_for_unused(is_unreadable=is_unreadable),
                )
                yield new_finding(rule, array.node, text, remedy)


def check_undeclared(
    arrays: Iterable[Undeclared], assumed: Mapping[Node, Interpretation]
) -> Iterator[Finding]:
    """Yield the arrays without coordinates or a CRS for which the store has what a declaration needs.

    Parameters
    ----------
    arrays : iterable of Undeclared
        The arrays without a principal convention.
    assumed : mapping
        The interpretations of arrays by the conventions whose marks they have.
    """
    for array in arrays:
        dims, declaration = _declaration(array, assumed.get(array.node, Interpretation()))
        if not declaration:
            continue
        parts = f"coordinates along {', '.join(map(repr, dims))}" if dims else "a CRS"
        remedy = f"add to its attributes: {json.dumps(declaration, ensure_ascii=False)}"
        names = {item["name"] for item in declaration["zarr_conventions"]}
        if names <= {*_WRITTEN_BY_ZARR_CM}:
            remedy += " (the Python package zarr-cm writes such attributes)"
        text = f"opens without {parts}, which the store has"
        yield new_finding(Topic.NO_PRINCIPAL, array.node, text, remedy)


def _declaration(
    array: Undeclared, interpretation: Interpretation
) -> tuple[list[str], dict[str, Any]]:
    """Return attributes that would give an array missing coordinates or a CRS, {} if the store has none; and their dimensions."""
    used: list[type[ConventionHandler]] = []
    dims: list[str] = []
    attributes: dict[str, Any] = {}
    along = {
        each.source.dims[0]: each
        for each in interpretation.coordinates
        if len(each.source.dims) == 1 and each.source.dims[0] in array.bare
    }
    # 1. A grid: both axes are computed from one transform.
    lines = dict(_lines(along))
    if {"X", "Y"} <= lines.keys():
        (y, rows), (x, columns) = lines["Y"], lines["X"]
        dims = [y, x]
        used.append(SpatialHandler)
        transform = [columns.step, 0.0, columns.first, 0.0, rows.step, rows.first]
        attributes |= {"spatial:dimensions": [y, x], "spatial:transform": transform}
    # 2. Coordinate variables of groups above.
    elif dims := [dim for dim, each in along.items() if isinstance(each.source, Stored)]:
        used.append(CfHandler)
    crs = interpretation.crs
    if crs is not None and (SpatialHandler in used or not array.bare):
        used.append(ProjHandler)
        key = "proj:wkt2" if crs.code is None else "proj:code"
        attributes[key] = crs.grid_mapping()["crs_wkt"] if crs.code is None else crs.code
    declared = [{"uuid": convention.uuid, "name": convention.name} for convention in used]
    return dims, {"zarr_conventions": declared, **attributes} if used else {}


def _lines(along: Mapping[str, Coordinate]) -> Iterator[tuple[str, tuple[str, Regular]]]:
    """Yield the axes whose coordinate is computed from a line: the name of the axis, the dimension and the line."""
    for dim, coordinate in along.items():
        source = coordinate.source
        if isinstance(source, Computed) and isinstance(source.function, Regular):
            yield str(coordinate.attributes.get("axis")), (dim, source.function)
