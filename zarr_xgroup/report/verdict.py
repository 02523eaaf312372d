"""What a producer should mend in a store, one by one: plain values, made to be shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from zarr_xgroup.conventions.descriptions import Rule
from zarr_xgroup.report.explanation import Place


@dataclass(frozen=True)
class Mistake:
    """One thing to mend.

    Attributes
    ----------
    rule : Rule
        The rule that it breaks.
    place : Place
        Where it is written, or should be: of several arrays that share it the first.
    text : str
        What is wrong.
    remedy : str
        What to write instead.
    severity : {"error", "warning"}
        Whether an open loses something by it, or can live with it.
    places : tuple of Place
        All places with the same mistake.
    """

    rule: Rule
    place: Place
    text: str
    remedy: str
    severity: Literal["error", "warning"] = "error"
    places: tuple[Place, ...] = ()

    def moved(self, node: str, other: str) -> Mistake:
        """Return the same mistake in another node, as far as it is in the first."""
        if node == other:
            return self
        places = tuple(
            replace(it, node=other) if it.node == node else it for it in (self.place, *self.places)
        )
        return replace(self, place=places[0], places=places[1:])
