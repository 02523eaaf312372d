"""Laws that hold for `explain` and `check` of every store."""

import json
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import xarray as xr

import zarr_xgroup
from zarr_xgroup import (
    XGroupDimensionWarning,
    XGroupMetadataWarning,
    XGroupNameWarning,
    XGroupNoPrincipalWarning,
    XGroupResolutionWarning,
    XGroupWarning,
)
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.page import page
from zarr_xgroup.report.results import Explanation
from zarr_xgroup.report.terminal import as_text, explanation_parts, verdict_parts
from zarr_xgroup.tests.builders import recording_store
from zarr_xgroup.tests.fuzzing import Opened, attempt, described, unexpected_warnings
from zarr_xgroup.tests.random_stores import Documents

#: The class of warnings that reports a problem of each kind.
WARNING_OF_KIND: Mapping[str, type[XGroupWarning]] = {
    "problem": XGroupResolutionWarning,
    "choice": XGroupResolutionWarning,
    "dimension": XGroupDimensionWarning,
    "name": XGroupNameWarning,
    "metadata": XGroupMetadataWarning,
    "no principal convention": XGroupNoPrincipalWarning,
}

#: Parts of warnings about values or the alignment of Datasets, which an explanation does not have.
ONLY_ON_OPENING = (
    "cannot decode it: ",
    "opened with undecoded times: ",
    ": opened without '",
    "cannot be read",
    " is already used or not valid in this group",
    " in a DataTree",
    "chunks are missing in the store",
)

#: The ways to show a report.
SHOWN: Mapping[str, Mapping[str, Callable[[Any], str]]] = {
    "explain": {
        "text": repr,
        "page": page,
        "notebook": lambda report: report._repr_html_(),
        "all": lambda report: as_text(explanation_parts(report, is_whole=True)),
        "JSON": lambda report: json.dumps(report.to_dict(), allow_nan=False),
    },
    "check": {
        "text": repr,
        "all": lambda report: as_text(verdict_parts(report, is_whole=True)),
        "JSON": lambda report: json.dumps(report.to_dict(), allow_nan=False),
    },
}


def report_violations(documents: Documents) -> Iterator[str]:
    """Yield the laws that `explain` and `check` break for a store."""
    opened = Opened(documents)
    if opened.is_huge_index:
        return  # it was opened with different options
    error, given = opened.tree.error, opened.tree.warnings
    for name, ways in SHOWN.items():
        store = recording_store(opened.contents)
        report = attempt(getattr(zarr_xgroup, name), store, **opened.options)
        if report.error is not None and type(report.error) is not type(error):
            yield f"{name} raises: {described(report.error)}"
        for warning in unexpected_warnings(report.warnings, xr.SerializationWarning):
            yield f"{name} {warning}"
        if report.value is None:
            continue
        # `check` reads what opening reads. `explain` reads no values.
        if name == "explain" and store.chunk_gets:
            yield f"{name} reads chunks: {list(store.chunk_gets)}"
        if name == "explain" and error is None:
            yield from _differences_from_warnings(report.value, given)
        for way, make in ways.items():
            shown = attempt(make, report.value)
            if shown.error is not None:
                yield f"{name} cannot be shown as {way}: {described(shown.error)}"
            elif raw := {c for c in set(str(shown.value)) - {"\n"} if printable(c) != c}:
                yield f"{name} as {way} has characters that are not printable: {raw!r}"
        if (
            attempt(lambda value: pickle.loads(pickle.dumps(value)), report.value).value
            != report.value
        ):
            yield f"{name} cannot be pickled"


def _differences_from_warnings(
    explanation: Explanation, given: tuple[Warning, ...]
) -> Iterator[str]:
    """Yield the problems that only an explanation, or only the warnings on opening, report."""
    ours = [warning for warning in given if isinstance(warning, XGroupWarning)]
    named = [
        (problem, WARNING_OF_KIND[problem.kind], _anonymous(problem.text))
        for problem in explanation.problems
    ]
    for problem, kind, text in named:
        if not any(
            type(warning) is kind
            and text in _anonymous(str(warning))
            and {*problem.arrays} <= {*warning.paths}
            for warning in ours
        ):
            yield f"only explain reports: {problem.kind}: {problem.text}"
    for warning in ours:
        shown = _anonymous(str(warning))
        is_known = any(type(warning) is kind and text in shown for _problem, kind, text in named)
        if not (is_known or any(words in shown for words in ONLY_ON_OPENING)):
            yield f"explain does not report: {type(warning).__name__}: {warning}"


def _anonymous(text: str) -> str:
    """Return a text without the name of the store, which differs in a recording store."""
    return re.sub(r"memory://\d+|recording store", "the store", text)
