"""Names and paths in CF attributes that lead to no array: what to write instead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from posixpath import relpath

from zarr_xgroup.conventions.cf_paths import SOMEWHERE
from zarr_xgroup.conventions.spelling import all_alike
from zarr_xgroup.findings import Change, Finding, Place
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import ALONG, REFERRING, candidate_paths, with_names, without_names
from zarr_xgroup.metadata.paths import ancestor_paths, is_below
from zarr_xgroup.report.explanation import FoundReference
from zarr_xgroup.report.rules.subject import Checked, Subject, mistake, write

#: How many names that are alike are looked at, and how many arrays of each.
_MOST_NAMES, _MOST_ARRAYS = 5, 200

#: Attributes that a grid mapping variable has at least one of.
_OF_MAPPINGS = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


def is_of_cf(reference: FoundReference, checked: Checked) -> bool:
    """Tell whether a reference is a name or path in a CF attribute."""
    subject = checked.subject(reference.source.node.strip("/"))
    key = _key(reference.source)
    return subject is not None and key in REFERRING and isinstance(subject.attributes.get(key), str)


def check(references: Iterable[FoundReference], checked: Checked) -> Iterator[Finding]:
    """Yield what is wrong with CF attributes, of whose names some lead to no array."""
    of_attributes: defaultdict[Place, list[FoundReference]] = defaultdict(list)
    for it in references:
        of_attributes[it.source].append(it)
    names = _Names(checked)
    for place, wrong in of_attributes.items():
        subject = checked.subject(place.node.strip("/"))
        attribute = None if subject is None else subject.attribute(_key(place))
        if subject is not None and attribute is not None:
            text = "; ".join(f"{it.target!r} {it.text}" for it in wrong)
            meant = {it.target: names.meant(subject, _key(place), it.target) for it in wrong}
            remedy = _remedy(_key(place), attribute.value, meant)
            changes: tuple[Change, ...] = ()
            if all(names.is_only_one(subject, _key(place), it) for it in meant):
                right = {name: path for name, path in meant.items() if path is not None}
                written = with_names(_key(place), attribute.value, right)
                changes = (Change.writing(written, attribute),)
            yield mistake(SOMEWHERE, attribute, text, remedy, changes=changes)


def _key(place: Place) -> str:
    return place.pointer.removeprefix("/attributes/")


def _remedy(key: str, text: str, names: Mapping[str, str | None]) -> str:
    """Return what to write in an attribute, given what is meant by names that lead nowhere."""
    meant = {name: path for name, path in names.items() if path is not None}
    missing = [name for name in names if name not in meant]
    if not missing:
        return write(key, with_names(key, text, meant))
    if key == "cell_measures":
        listed = f'"external_variables": "{" ".join(missing)}"'
        remedy = _(
            "name arrays that are there, or write {text} on the root if they are in other files"
        )
        return remedy.format(text=listed)
    rest = with_names(key, without_names(key, text, missing), meant)
    if not rest:
        return _('name an array that is there, or leave "{key}" out').format(key=key)
    return _("name an array that is there, or {write}").format(write=write(key, rest))


class _Names:
    """The arrays of a store that names and paths in CF attributes may mean."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._alike: dict[str, list[str]] = {}

    def meant(self, subject: Subject, key: str, name: str) -> str | None:
        """Return the name or path of the array that was probably meant, as CF resolves it."""
        last = name.rstrip("/").rpartition("/")[2]
        for called in self._called_like(last):
            if (path := self._nearest(subject, key, called)) is not None:
                return path
        return None

    def is_only_one(self, subject: Subject, key: str, name: str) -> bool:
        """Tell whether one array fits that is called so, by a path that differs in the first levels."""
        tail = name.strip("/").lstrip("./")
        named = self._checked.by_name.get(tail.rpartition("/")[2], ())[:_MOST_ARRAYS]
        fitting = [it for it in named if _fits(subject, key, it.strip("/"))]
        return len(fitting) == 1 and fitting[0].endswith(f"/{tail}")

    def _called_like(self, name: str) -> list[str]:
        if name not in self._alike:
            named = self._checked.by_name
            same = [name] if name in named else []
            self._alike[name] = [*same, *all_alike(name, named)][:_MOST_NAMES]
        return self._alike[name]

    def _nearest(self, subject: Subject, key: str, called: str) -> str | None:
        """Return the nearest array of a name that fits: below the group of the referring one, or above."""
        group = subject.node.group.path
        paths = [it.strip("/") for it in self._checked.by_name[called]]
        for above in (group, *reversed([*ancestor_paths(group)]), ""):
            near = islice((it for it in paths if is_below(it, above)), _MOST_ARRAYS)
            if fitting := [it for it in near if _fits(subject, key, it)]:
                path = min(fitting, key=lambda it: (it.count("/"), it))
                is_first = path == next(
                    filter(self._is_array, candidate_paths(called, group)), None
                )
                return called if is_first else relpath(f"/{path}", f"/{group}")
        return None

    def _is_array(self, path: str) -> bool:
        subject = self._checked.subject(path)
        return subject is not None and subject.is_array


def _fits(subject: Subject, key: str, path: str) -> bool:
    """Tell whether an array can be what an attribute of another one names."""
    other = subject.store.subject(path)
    if other is None or not other.is_array or other.node == subject.node:
        return False
    if key in ALONG:
        return other.sizes.items() <= subject.sizes.items() and len(other.sizes) == len(other.dims)
    if key == "grid_mapping":
        return not _OF_MAPPINGS.isdisjoint(other.attributes)
    if key == "formula_terms":
        return True
    return other.dims[:-1] == subject.dims
