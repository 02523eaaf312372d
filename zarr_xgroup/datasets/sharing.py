"""What conventions said of arrays of an open, kept for other arrays that it holds for.

1. An answer holds for arrays with the same dimensions, in groups that say the same and are in groups
   that do, if they have the same attributes, as far as any convention asked for attributes.
2. What a convention looked at besides (`zarr_xgroup.conventions.asked`) limits that to arrays of the
   same group, or to the array itself.
3. What was found wrong, or chosen, is told of each array by itself.
4. An answer that lacks something holds as long as that is lacking.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from itertools import chain, count

from zarr_xgroup.conventions.array import ArrayView, Models
from zarr_xgroup.conventions.asked import Asked, Reach, Texts
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.registry import Handlers
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Lookup


@dataclass(frozen=True, eq=False)
class Subject:
    """An array that conventions are asked about, and those that found by themselves that they apply."""

    node: Node
    document: Document
    #: The names of the arrays of its group.
    siblings: Collection[str]
    view: ArrayView
    detected: Handlers


@dataclass(frozen=True, eq=False)
class Answer:
    """What the conventions say of an array, and for which other arrays that is the same."""

    interpretation: Interpretation
    conventions: Handlers
    #: Whether a principal one among them is declared, and not only assumed.
    is_first_class: bool
    reach: Reach
    asked: Asked
    #: Whether nothing was lacking; else what was has been taken down.
    is_whole: bool

    def holds_for(self, subject: Subject) -> bool:
        """Tell whether it is the same for an array with the same metadata."""
        is_compared = not self.asked.compared.isdisjoint((subject.node, subject.node.group))
        return not is_compared and self.asked.missed.isdisjoint(subject.siblings)


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
        self._last: tuple[Subject, int] | None = None
        self._last_key: Hashable = None

    def begin_round(self) -> None:
        """Forget answers that lacked something: it may be known now."""
        self._answers = {key: it for key, it in self._answers.items() if it.is_whole}

    def find(self, subject: Subject) -> Answer | None:
        """Return the answer that holds for an array, if there is one."""
        key = self._key(subject)
        for place in (None, subject.node.group):
            answer = self._answers.get((key, place))
            if answer is not None and answer.holds_for(subject):
                return answer
        return None

    def keep(self, subject: Subject, answer: Answer) -> None:
        """Keep the answer of an array for those that it holds for."""
        if answer.reach < Reach.ITSELF and not answer.interpretation.findings:
            place = None if answer.reach is Reach.ANYWHERE else subject.node.group
            self._answers[self._key(subject), place] = answer

    def _key(self, subject: Subject) -> Hashable:
        """Return what an answer follows from but for what it was compared with.

        It is the same before and after an array was asked about, unless more attributes were asked for.
        """
        this = subject, len(self._own) + len(self._around)
        if this != self._last:
            self._last, self._last_key = this, self._made_key(subject)
        return self._last_key

    def _made_key(self, subject: Subject) -> Hashable:
        view = subject.view
        return (
            self._own.texts_of(subject.document.attributes),
            view.dims,
            view.shape,
            tuple(view.names.items()),
            tuple(view.chunks.items()),
            self.surroundings_of(subject.node.group, view.lookup),
            view.declared,
            view.dimension_references,
            subject.detected,
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
