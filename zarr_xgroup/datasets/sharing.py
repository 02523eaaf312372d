"""What conventions said of arrays of an open, kept for other arrays that it holds for.

1. An answer holds for arrays with the same dimensions, in groups that say the same and are in groups
   that do, if they have the same attributes, as far as any convention asked for attributes.
2. What a convention looked at besides (`zarr_xgroup.conventions.asked`) limits that to arrays of the
   same group, or to the array itself.
3. What was found wrong, or chosen, is told of each array by itself.
4. An answer that lacks something holds as long as that is lacking.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import chain, count

from zarr_xgroup.conventions.array import ArrayView, Models
from zarr_xgroup.conventions.asked import Asked, Reach, Texts
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.registry import Handlers
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Lookup


@dataclass(frozen=True, eq=False)
class Answer:
    """What the conventions say of an array, and for which other arrays that is the same."""

    interpretation: Interpretation
    conventions: Handlers
    #: Whether a principal one among them is declared, and not only assumed.
    is_first_class: bool
    reach: Reach
    #: As `zarr_xgroup.conventions.asked.Asked` has them.
    compared: set[Node]
    missed: set[str]
    #: Whether nothing was lacking; else what was has been taken down.
    is_whole: bool

    def holds_for(self, array: Asked) -> bool:
        """Tell whether it is the same for an array with the same metadata."""
        is_compared = not self.compared.isdisjoint((array.node, array.node.group))
        return not is_compared and self.missed.isdisjoint(array.siblings)


class Answers:
    """The answers of one open, by what they follow from."""

    def __init__(self, models: Models) -> None:
        self._own = models.own
        self._around = models.around
        self._answers: dict[Hashable, Answer] = {}
        self._surroundings: dict[Node, int] = {}
        self._numbers: dict[tuple[int, Texts], int] = {}
        self._unused = count()
        self._number_asked = 0

    def begin_round(self) -> None:
        """Forget answers that lacked something: it may be known now."""
        self._answers = {key: it for key, it in self._answers.items() if it.is_whole}

    def get(self, view: ArrayView, detected: Handlers, ask: Callable[[], Answer]) -> Answer:
        """Return the answer that holds for an array, or ask for one, and keep it for those it holds for.

        Parameters
        ----------
        view : ArrayView
            The array.
        detected : tuple of handler
            The conventions that found by themselves that they apply to it.
        ask : callable
            Asks the conventions.
        """
        asked, before = view.asked, self._number_of_names()
        key, group = self._key(view, detected), asked.node.group
        for place in (None, group):
            known = self._answers.get((key, place))
            if known is not None and known.holds_for(asked):
                return known
        answer = ask()
        if answer.reach < Reach.ITSELF and not answer.interpretation.findings:
            if self._number_of_names() > before:
                key = self._key(view, detected)
            place = None if answer.reach is Reach.ANYWHERE else group
            self._answers[key, place] = answer
        return answer

    def _number_of_names(self) -> int:
        return len(self._own) + len(self._around)

    def _key(self, view: ArrayView, detected: Handlers) -> Hashable:
        """Return what an answer follows from but for what it was compared with."""
        return (
            self._own.texts_of(view.asked.document.attributes),
            view.dims,
            view.shape,
            tuple(view.names.items()),
            tuple(view.chunks.items()),
            self.surroundings_of(view.asked.node.group, view.lookup),
            view.declared,
            view.dimension_references,
            detected,
        )

    def surroundings_of(self, group: Node, lookup: Lookup) -> int:
        """Return a number for what a group and those it is in say: equal for equal texts.

        It follows from that of the group above: groups nested deep take no longer than others.
        """
        if len(self._around) > self._number_asked:
            self._number_asked = len(self._around)
            self._surroundings.clear()
            self._numbers.clear()
        unknown = []
        number = -1
        for node in chain([group], group.ancestors()):
            if node in self._surroundings:
                number = self._surroundings[node]
                break
            unknown.append(node)
        for node in reversed(unknown):
            document = lookup.document(node)
            texts = () if document is None else self._around.texts_of(document.attributes)
            if texts or number >= 0:  # how far up nothing is said makes no difference
                number = self._numbers.setdefault((number, texts), next(self._unused))
            self._surroundings[node] = number
        return number
