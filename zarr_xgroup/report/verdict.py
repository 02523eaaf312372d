"""What a producer should mend in a store: plain values, made to be shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.report.explanation import VERSION, JsonValue, Place, as_json
from zarr_xgroup.report.printable import printable


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

    def moved(self, node: str, other: str) -> Mistake:
        """Return the same mistake in another node, as far as it is in the first."""
        if node == other:
            return self
        places = tuple(
            replace(it, node=other) if it.node == node else it for it in (self.place, *self.places)
        )
        return replace(self, place=places[0], places=places[1:])


#: How wide a verdict is as text, and how many of its mistakes, and places of each, are shown.
_WIDTH = 100
_SHOWN_MISTAKES = 50
_SHOWN_PLACES = 3


@dataclass(frozen=True, repr=False)
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
    is_declared : bool
        Whether any node that was checked, or a group above, has ``zarr_conventions``: most rules
        are about what is declared.
    """

    store: str
    group: str
    mistakes: tuple[Mistake, ...] = ()
    is_declared: bool = True

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing to mend."""
        return not self.mistakes

    def to_dict(self) -> dict[str, JsonValue]:
        """Return it as JSON values, as ``verdict.schema.json`` in this package describes them."""
        return {"version": VERSION, **as_json(self)}

    def __repr__(self) -> str:
        """Return it as text to read: each mistake with its place, what to write, and the rule."""
        head = printable(f"<zarr_xgroup.Verdict {self.store} {self.group}>")
        if self.is_clean:
            text = _("Nothing to mend.")
            if not self.is_declared:
                text = _('Nothing to mend, but no node has "zarr_conventions": little was checked.')
            return f"{head}\n{text}"
        errors = sum(it.severity == "error" for it in self.mistakes)
        count = _("errors: {errors}, warnings: {warnings}").format(
            errors=errors, warnings=len(self.mistakes) - errors
        )
        shown = [line for it in self.mistakes[:_SHOWN_MISTAKES] for line in _lines(it)]
        left = len(self.mistakes) - _SHOWN_MISTAKES
        if left > 0:
            message = ngettext("... and {count} more", "... and {count} more", left)
            shown += ["", message.format(count=left)]
        return "\n".join(map(printable, [f"{head} {count}", *shown]))


def _lines(mistake: Mistake) -> Iterator[str]:
    """Yield the lines that tell of a mistake."""
    severity = _("error") if mistake.severity == "error" else _("warning")
    yield ""
    yield f"{severity} {_place(mistake.place)}"
    others = [_place(place) for place in mistake.places if place != mistake.place]
    if others:
        left = len(others) - _SHOWN_PLACES
        shown = others[:_SHOWN_PLACES]
        if left > 0:
            shown.append(ngettext("{count} more", "{count} more", left).format(count=left))
        places = ", ".join(shown)
        yield from _folded(_("also at {places}").format(places=places))
    yield from _folded(mistake.text)
    yield from _folded(f"-> {mistake.remedy}")
    rule = mistake.rule
    yield from _folded(f"[{rule.name}] {rule.document}: {rule.section}")


def _place(place: Place) -> str:
    store = f"{place.store}|" if place.store else ""
    return f"{store}{place.node}" + (f"#{place.pointer}" if place.pointer else "")


def _folded(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
