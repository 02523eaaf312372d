"""What a coordinate is read or computed from, in words."""

from __future__ import annotations

from typing import Literal as OneOf

import numpy as np

from zarr_xgroup.i18n import _
from zarr_xgroup.redaction import redact
from zarr_xgroup.variables.functions import Centres, Regular, RegularBounds, RotatedCentres
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Literal, Offset, Source, Stored

#: Where the values of a coordinate are, see `FoundCoordinate`.
Place = OneOf["stored", "foreign", "computed", "inline", "given"]

#: How many values that are written in metadata are shown.
_SHOWN = 3
#: How long one of them may be.
_LONGEST = 30


def kind_of_source(source: Source) -> Place:
    """Return where the values of a source are."""
    if isinstance(source, Stored):
        return "foreign" if source.node.store else "stored"
    if isinstance(source, Literal):
        return "inline"
    return "given" if isinstance(source, HandlerVariable) else "computed"


def described(source: Source) -> str:
    """Return in words what a source says besides its place, "" if that is all."""
    if isinstance(source, Stored):
        return _of_array(source)
    if isinstance(source, Literal):
        return _values(source.values)
    if isinstance(source, Offset):
        return _distances(source.below, source.above)
    if isinstance(source, HandlerVariable):
        return _("a variable that the handler of a convention gave")
    return _of_function(source)


def _of_array(source: Stored) -> str:
    if source.first:
        return _("its first element along {dim!r}").format(dim=source.along[0])
    return _("transposed") if source.transposed else ""


def _of_function(source: Computed) -> str:
    function = source.function
    if isinstance(function, Regular):
        return _("regular: {formula}").format(formula=_line(function.first, function.step, "i"))
    if isinstance(function, RegularBounds):
        line = _line(function.values.first, function.values.step, "i")
        return f"{line}; {_distances(function.below, function.above)}"
    if isinstance(function, Centres):
        position = _position("i", function.offset)
        line = _line(function.origin, function.step, position)
        return _("affine transform: {formula}").format(formula=line)
    if isinstance(function, RotatedCentres):
        column, row = (_position(name, function.offset) for name in ("column", "row"))
        line = _line(function.origin, function.column, column)
        return _("rotated affine transform: {formula}").format(
            formula=f"{line}{_term(function.row, row)}"
        )
    return _("computed")


def _line(first: float, step: float, position: str) -> str:
    return f"{first}{_term(step, position)}"


def _term(factor: float, position: str) -> str:
    return f" - {-factor} * {position}" if factor < 0 else f" + {factor} * {position}"


def _position(name: str, offset: float) -> str:
    return f"({name} + {offset})" if offset else name


def _distances(below: float, above: float) -> str:
    return _("from {below:+} to {above:+} of each value").format(below=below, above=above)


def _values(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    flat = values.ravel()
    shown = [redact(str(value))[:_LONGEST] for value in flat[:_SHOWN].tolist()]
    if flat.size > _SHOWN:
        shown += ["...", redact(str(flat[-1:].tolist()[0]))[:_LONGEST]]
    return _("values {values}").format(values=", ".join(shown)) if shown else _("no values")
