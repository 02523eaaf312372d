"""What a producer should mend in a store: plain values, made to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zarr_xgroup.report.explanation import VERSION, JsonValue, Place, as_json


@dataclass(frozen=True)
class Rule:
    """A rule that stores should follow.

    Attributes
    ----------
    name : str
        What it is called in output: ``<convention>/<rule>`` (``cs/axis-for-every-dimension``).
    document : str
        The document that demands it.
    section : str
        Where in that document.
    """

    name: str
    document: str
    section: str


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


@dataclass(frozen=True)
class Verdict:
    """What `check` found in a store.

    Attributes
    ----------
    store : str
        The store, without credentials.
    group : str
        The group that was checked, with all groups below it.
    mistakes : tuple of Mistake
        What to mend, errors first.
    """

    store: str
    group: str
    mistakes: tuple[Mistake, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing to mend."""
        return not self.mistakes

    def to_dict(self) -> dict[str, JsonValue]:
        """Return it as JSON values, as ``verdict.schema.json`` in this package describes them."""
        return {"version": VERSION, **as_json(self)}
