"""Comparison of a declared grid with its bounding box, and with stored coordinates, for `check`.

Published products are wrong in this by half a cell: the box, or the transform, is that of the centres of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from zarr_xgroup.conventions.affine import ROUNDING, Transform
from zarr_xgroup.conventions.descriptions import write
from zarr_xgroup.conventions.multiscales import OVERHANG
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, new_finding
from zarr_xgroup.metadata.nodes import Fragment

#: What the transform seems to be if it is half a cell off in the direction of rows and columns.
_OF_CENTRES = "the transform seems to begin at the centre of the first cell instead of its corner"


class WrittenGrid(NamedTuple):
    """A transform in the metadata of an array."""

    #: The transform as it is written.
    place: Fragment
    transform: Transform
    #: The dimensions along Y and X, and their sizes.
    dims: tuple[str, str]
    sizes: tuple[int, int]

    def finding_of_box(self, box: Fragment, sides: Sequence[float], rule: Rule) -> Finding | None:
        """Return a finding if a bounding box differs from the grid by up to a cell, or None.

        Opening reports boxes that differ by more. The sides that are far from the first cell may differ by a cell, because
        the sizes of levels are rounded.
        """
        affine, extent = self.transform.affine, self.transform.extent(self.sizes)
        if self.transform.is_partial or not self.transform.fills([*sides], self.sizes, OVERHANG):
            return None
        cells = np.array([abs(affine.a) + abs(affine.b), abs(affine.d) + abs(affine.e)] * 2)
        offsets = (np.array(sides) - extent) / cells
        is_near = [affine.a > 0, affine.e > 0, affine.a < 0, affine.e < 0]
        if self.transform.is_rotated:
            is_near = [True] * 4
        if np.abs(offsets[is_near]).max() <= ROUNDING:
            return None
        place, remedy = box, write(box.keys[-1], extent)
        half_back = -np.sign([affine.a, affine.e] * 2) / 2
        if _agree(offsets, np.array([0.5, 0.5, -0.5, -0.5])):
            how = "it is half a cell smaller on each side, and seems to be that of the centres of cells"
        elif _agree(offsets, half_back):
            place, how = self.place, f"{_OF_CENTRES}, half a cell off"
            remedy = self._remedy(-0.5)
        else:
            how = f"it differs by up to {np.abs(offsets).max():.3g} cells"
        text = f"{box.keys[-1]} is {box.value}, but {self.place.keys[-1]} gives {extent}: {how}"
        return new_finding(rule, place, text, remedy, severity="warning")

    def finding_of_coordinates(
        self, ends: Mapping[str, tuple[float, float]], rounding: Mapping[str, float], rule: Rule
    ) -> Finding | None:
        """Return a finding if the transform differs from the stored coordinates of its dimensions, or None.

        Parameters
        ----------
        ends : mapping
            The first and last values of the coordinates, by dimension.
        rounding : mapping
            By how much their type rounds them.
        rule : Rule
            The rule about the transform.
        """
        affine, centre = self.transform.affine, self.transform.centre
        if self.transform.is_rotated or self.transform.is_partial:
            return None
        axes = ((affine.f, affine.e), (affine.c, affine.a))
        texts, offsets, is_wrong = [], [], False
        for dim, size, (origin, step) in zip(self.dims, self.sizes, axes, strict=True):
            declared = np.array([origin + step * (i + centre) for i in (0, size - 1)])
            differences = (np.array(ends[dim]) - declared) / abs(step)
            is_wrong |= np.abs(differences).max() > ROUNDING + rounding[dim] / abs(step)
            offsets += list(differences * np.sign(step))
            texts.append(f"{dim!r} from {declared[0]:.12g} to {declared[1]:.12g}")
        if not is_wrong:
            return None
        how = f"they differ by up to {np.abs(offsets).max():.3g} cells"
        if _agree(np.array(offsets), np.full(4, -0.5)):
            how = f"{_OF_CENTRES}, half a cell off"
        stored = (f"{dim!r} from {ends[dim][0]:.12g} to {ends[dim][1]:.12g}" for dim in self.dims)
        text = f"gives {' and '.join(texts)}, but the stored coordinates are {' and '.join(stored)}, which are used: {how}"
        return new_finding(rule, self.place, text, self._remedy_of(ends), severity="warning")

    def _remedy(self, shift: float) -> str:
        """Return the remedy to write the transform, moved by a part of a cell along rows and columns."""
        a, b, c, d, e, f = list(self.transform.affine)[:6]
        return self._written([a, b, c + shift * (a + b), d, e, f + shift * (d + e)])

    def _remedy_of(self, ends: Mapping[str, tuple[float, float]]) -> str:
        """Return the remedy to write the transform of the stored coordinates."""
        origins = []
        for dim, size in zip(self.dims, self.sizes, strict=True):
            first, last = ends[dim]
            step = (last - first) / (size - 1)
            origins.append((step, first - self.transform.centre * step))
        (e, f), (a, c) = origins
        return self._written([a, 0.0, c, 0.0, e, f])

    def _written(self, numbers: list[float]) -> str:
        """Return the remedy to write numbers as the transform, with the last row of a matrix if it is written with one."""
        return write(self.place.keys[-1], [*numbers, *self.place.value[6:]])


def _agree(offsets: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether offsets in cells are as expected, within rounding."""
    return bool(np.abs(offsets - expected).max() <= 10 * ROUNDING)
