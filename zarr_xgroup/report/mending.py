"""Mending a store: what a check finds and knows the one remedy of, written into the documents."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from operator import itemgetter
from typing import Any, Unpack, cast

from zarr_xgroup.datasets.planning import planning
from zarr_xgroup.findings import Change, Finding
from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.metadata.documents import CONSOLIDATED_V2
from zarr_xgroup.metadata.editing import edited
from zarr_xgroup.metadata.nodes import Keys
from zarr_xgroup.metadata.paths import join_path
from zarr_xgroup.metadata.snapshots import Snapshot
from zarr_xgroup.options import OpenOptions, with_options_shown
from zarr_xgroup.redaction import presentable
from zarr_xgroup.report.checking import TOLD, Verdict, judged
from zarr_xgroup.report.explanation import VERSION, JsonValue, as_json
from zarr_xgroup.report.rules import consolidated
from zarr_xgroup.storage.writing import Drafts, writable

#: Where Zarr v2 has the attributes of a node.
_ATTRIBUTES_V2 = ".zattrs"

#: How often a store is checked again after a change: what is mended may show what else is wrong.
_MOST_ROUNDS = 12

#: How many lines of documents are compared at once.
_WINDOW = 5000


@dataclass(frozen=True)
class MendedDocument:
    """A document as it was, and as it is mended.

    Attributes
    ----------
    key : str
        Its key in the store, such as ``ocean/temp/zarr.json``.
    before, after : str
        Its text; `before` is "" where there was none.
    """

    key: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """What is changed, as a unified diff: of what is all in one line, as if it were in several."""
        before, after = self.before, self.after
        if "\n" not in after.strip():
            before, after = map(_in_lines, (before, after))
        lines = _Windows(None, before.splitlines(), after.splitlines()).unified_diff()
        return "".join(f"{it}\n" for it in (f"--- a/{self.key}", f"+++ b/{self.key}", *lines))


def _in_lines(text: str) -> str:
    """Return a document in several lines; as it is if it is nested too deep."""
    with suppress(RecursionError):
        return json.dumps(json.loads(text), indent=2) if text else ""
    return text


class _Windows(SequenceMatcher[str]):
    """Compares lines of documents window by window.

    All compared with all would take a time that grows with the square of their number.
    """

    a: Sequence[str]
    b: Sequence[str]

    def get_opcodes(self) -> list[tuple[Any, int, int, int, int]]:
        """Return what becomes of lines."""
        codes: list[tuple[Any, int, int, int, int]] = []
        old = new = 0
        while old < len(self.a) or new < len(self.b):
            window = self.a[old : old + _WINDOW], self.b[new : new + _WINDOW]
            found = SequenceMatcher(None, *window).get_opcodes()
            is_last = max(len(self.a) - old, len(self.b) - new) <= _WINDOW
            # What comes after the last equal lines may have its equal behind the window.
            if not is_last and found[-1][0] != "equal":
                found = found[:-1] or found
            codes += [(tag, old + i, old + j, new + k, new + n) for tag, i, j, k, n in found]
            old, new = old + found[-1][2], new + found[-1][4]
        # What goes on over the end of a window is one.
        runs = (list(same) for _tag, same in groupby(codes, itemgetter(0)))
        return [(it[0][0], it[0][1], it[-1][2], it[0][3], it[-1][4]) for it in runs]

    def unified_diff(self) -> Iterator[str]:
        """Yield the lines of a unified diff, without those that name the files."""
        for group in self.get_grouped_opcodes():
            begin, end = group[0], group[-1]
            yield f"@@ -{_range(begin[1], end[2])} +{_range(begin[3], end[4])} @@"
            for tag, first, last, new_first, new_last in group:
                yield from (f"{' ' if tag == 'equal' else '-'}{it}" for it in self.a[first:last])
                if tag != "equal":
                    yield from (f"+{it}" for it in self.b[new_first:new_last])


def _range(begin: int, end: int) -> str:
    """Return the lines of a hunk as GNU diff has them."""
    count = end - begin
    return str(begin + 1) if count == 1 else f"{begin + 1 if count else begin},{count}"


@dataclass(frozen=True)
class Unmended:
    """What was found and is not mended.

    Attributes
    ----------
    finding : Finding
        What was found.
    why_not : str
        Why it is not mended.
    """

    finding: Finding
    why_not: str


@dataclass(frozen=True, repr=False)
class Mending:
    """What `mend` changes in a store, or would change.

    Attributes
    ----------
    store : str
        The store, without credentials.
    group : str
        The group that was checked, with all groups below it.
    documents : tuple of MendedDocument
        The documents that are changed.
    mended : tuple of Finding
        What was found, and is no more.
    left : tuple of Unmended
        What was found, and is left.
    is_written : bool
        Whether the documents were written, else they are only shown.
    """

    store: str
    group: str
    documents: tuple[MendedDocument, ...] = ()
    mended: tuple[Finding, ...] = ()
    left: tuple[Unmended, ...] = ()
    is_written: bool = False

    def to_dict(self) -> dict[str, JsonValue]:
        """Return it as JSON values: documents as unified diffs, findings as a verdict has them."""
        mended: list[JsonValue] = [_told(it) for it in self.mended]
        left: list[JsonValue] = [{**_told(it.finding), "why_not": it.why_not} for it in self.left]
        documents: list[JsonValue] = [{"key": it.key, "diff": it.diff} for it in self.documents]
        return {
            "version": VERSION,
            "store": self.store,
            "group": self.group,
            "documents": documents,
            "mended": mended,
            "left": left,
            "is_written": self.is_written,
        }

    def __repr__(self) -> str:
        """Return it as text to read: the diffs, and what is left with why."""
        return "\n".join(presentable(line) for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for document in self.documents:
            yield from document.diff.splitlines()
        for it in self.left:
            yield _("not mended: {place}: {text}").format(
                place=it.finding.place, text=it.finding.text
            )
            yield "  " + it.why_not
        text = ngettext(
            "{store}: {count} document to write, {mended} mended, {left} left",
            "{store}: {count} documents to write, {mended} mended, {left} left",
            len(self.documents),
        )
        if self.is_written:
            text = ngettext(
                "{store}: {count} document written, {mended} mended, {left} left",
                "{store}: {count} documents written, {mended} mended, {left} left",
                len(self.documents),
            )
        numbers = {"mended": len(self.mended), "left": len(self.left)}
        yield text.format(store=self.store, count=len(self.documents), **numbers)


def _told(finding: Finding) -> dict[str, JsonValue]:
    return {name: as_json(getattr(finding, name)) for name in TOLD}


@with_options_shown
def mend(store: Any, *, dry_run: bool = True, **options: Unpack[OpenOptions]) -> Mending:
    """Mend what `check` finds in a store, as far as there is one remedy and no other.

    Only metadata documents are written, each whole or not at all, and of these only what is mended: all
    else stays byte for byte. A document that was changed since it was read is not written.
    Consolidated metadata follow. Nothing else in this package writes anything.

    Parameters
    ----------
    store : str, os.PathLike, zarr.abc.store.Store, zarr.Group, ...
        The store, as for `check`. Of icechunk, ``session.store`` of a writable session: to commit is
        up to the caller.
    dry_run : bool
        Whether to write nothing, and only return what would be written.
    **options
        As for `check`.

    Returns
    -------
    Mending
        The documents before and after, what is mended, and why all else is not. It prints as a diff.

    Raises
    ------
    XGroupError
        As `check` raises.
    XGroupStoreError
        If the store cannot be written, or a document was changed meanwhile.

    Examples
    --------
    >>> import zarr_xgroup
    >>> zarr_xgroup.mend(store)  # doctest: +SKIP
    >>> zarr_xgroup.mend(store, dry_run=False)  # doctest: +SKIP
    """
    with planning(store, options) as planned:
        opened, snapshot = planned.library.stores[0], planned.library.snapshots[0]
        target = None if dry_run else writable(store, opened.store, snapshot.name)
        rest: Any = {"group": planned.group, "root": False, "zarr_format": snapshot.zarr_format}
        again = cast(OpenOptions, {**options, **rest, "storage_options": None})
        drafts = Drafts(opened.store)
        mended, left = _mended(drafts, snapshot, lambda: judged(drafts, again))
        if target is not None:
            drafts.write(target)
        documents = tuple(_documents(drafts))
        name, group = snapshot.name, f"/{planned.group}"
        planned.library.close()
    return Mending(name, group, documents, tuple(mended), tuple(left), is_written=not dry_run)


def _documents(drafts: Drafts) -> Iterator[MendedDocument]:
    for key, after in drafts.texts.items():
        yield MendedDocument(key, (drafts.before(key) or b"").decode(), after.decode())


def _mended(
    drafts: Drafts, snapshot: Snapshot, check: Callable[[], Verdict]
) -> tuple[Sequence[Finding], Sequence[Unmended]]:
    """Draft what mends a store, and return what is mended and what is left.

    A change that leaves what it is to mend is none: all is drafted again without it.
    """
    vain: set[Change] = set()
    while True:
        drafts.texts.clear()
        tried, left = _rounds(drafts, snapshot, check, vain)
        in_vain = set(_in_vain(tried, left)) - vain
        if not in_vain:
            return tried, [Unmended(it, _why_not(it, vain)) for it in left]
        vain |= in_vain


def _rounds(
    drafts: Drafts, snapshot: Snapshot, check: Callable[[], Verdict], vain: Collection[Change]
) -> tuple[Sequence[Finding], Sequence[Finding]]:
    """Make changes until there are none; return what they were made for, and what is left."""
    tried: dict[Finding, None] = {}
    found = check().mistakes
    for count in range(_MOST_ROUNDS):
        # What is read from consolidated metadata is what the nodes say, once these are anew.
        stale = [it for it in found if it.rule in consolidated.RULES and it.changes]
        made = _make(drafts, snapshot, stale or found, vain)
        if not made:
            break
        # That they are behind what was just mended is nobody's mistake.
        tried.update(dict.fromkeys([] if stale and count else made))
        found = check().mistakes
    return list(tried), found


def _make(
    drafts: Drafts, snapshot: Snapshot, findings: Sequence[Finding], vain: Collection[Change]
) -> list[Finding]:
    """Draft what findings change, each document once; return those for which one was changed."""
    wanted: defaultdict[str, list[tuple[Keys, Change]]] = defaultdict(list)
    documents: list[set[str]] = []
    for it in findings:
        documents.append(set())
        for change in it.changes:
            for key, keys in () if change in vain else _written_at(change, snapshot):
                wanted[key].append((keys, change))
                documents[-1].add(key)
    changed = {key for key, changes in wanted.items() if _draft(drafts, key, changes)}
    pairs = zip(findings, documents, strict=True)
    return [it for it, keys in pairs if not changed.isdisjoint(keys)]


def _draft(drafts: Drafts, key: str, changes: Sequence[tuple[Keys, Change]]) -> bool:
    """Draft a document with changes, and tell whether it is another one by them.

    One that is not there or cannot be edited is left, and told: nested too deep, of other letters than
    those of UTF-8, with numbers of thousands of digits.
    """
    try:
        text = _text(drafts, key)
        new = edited(text, changes)
        content = new.encode()
    except (RecursionError, ValueError):
        return False
    if new == text:
        return False
    # Consolidated metadata are written after what they consolidate.
    drafts.texts.pop(key, None)
    drafts.texts[key] = content
    return True


def _text(drafts: Drafts, key: str) -> str:
    """Return a document; one of attributes, which a node of Zarr v2 needs not have, is begun."""
    text = drafts.text(key)
    path, slash, name = key.rpartition("/")
    if text is None and name == _ATTRIBUTES_V2:
        node = (drafts.text(f"{path}{slash}{it}") for it in (".zarray", ".zgroup"))
        text = b"{}" if any(node) else None
    return (text or b"").decode()


def _written_at(change: Change, snapshot: Snapshot) -> Iterator[tuple[str, Keys]]:
    """Yield where a change is to be made: the keys of documents, and the ways through them."""
    path, keys = change.place.node.strip("/"), change.place.keys
    if change.place.store is not None:
        return
    if snapshot.zarr_format == 3:
        yield join_path(path, "zarr.json"), keys
    elif keys[0] == CONSOLIDATED_V2:
        yield join_path(path, CONSOLIDATED_V2), keys[1:]
    elif keys[0] == "attributes":
        yield join_path(path, _ATTRIBUTES_V2), keys[1:]
        if path == snapshot.consolidated_at:  # which no check compares, nor reader goes by its own
            yield join_path(path, CONSOLIDATED_V2), ("metadata", _ATTRIBUTES_V2, *keys[1:])
    else:
        yield join_path(path, ".zarray"), keys


def _why_not(finding: Finding, vain: Collection[Change]) -> str:
    if any(change in vain for change in finding.changes):
        return _("what would mend it leaves it as it is, or does not fit")
    if finding.place.store is not None:
        return _("it is written in another store")
    if finding.changes:
        return _("the document that it is written in is not in the store, or cannot be edited")
    if finding.remedy:
        return _("only who writes the store knows whether this is right: {remedy}").format(
            remedy=finding.remedy
        )
    return _("only who writes the store knows what is meant")


def _in_vain(tried: Iterable[Finding], left: Iterable[Finding]) -> Iterator[Change]:
    """Yield the changes that were made for what is still there."""
    still = {(it.rule, place) for it in left for place in it.places}
    for it in tried:
        nodes = {place.node for place in it.places if (it.rule, place) in still}
        if nodes:
            near = [change for change in it.changes if change.place.node in nodes]
            yield from near or it.changes
