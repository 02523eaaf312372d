"""The laws that hold for explanations and checks of every store, whichever it is."""

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

#: Which class of warnings tells a problem of each kind.
TELLING: Mapping[str, type[XGroupWarning]] = {
    "problem": XGroupResolutionWarning,
    "choice": XGroupResolutionWarning,
    "dimension": XGroupDimensionWarning,
    "name": XGroupNameWarning,
    "metadata": XGroupMetadataWarning,
    "no principal convention": XGroupNoPrincipalWarning,
}

#: What warnings say of values, or of how Datasets fit together: an explanation does not know it.
OF_VALUES = (
    "cannot decode it: ",
    "opened with undecoded times: ",
    ": opened without '",
    "cannot be read",
    " is already used or not valid in this group",
    " in a DataTree",
)

#: What is shown of a report.
SHOWN: Mapping[str, Mapping[str, Callable[[Any], str]]] = {
    "explain": {
        "text": repr,
        "page": page,
        "notebook": lambda it: it._repr_html_(),
        "all": lambda it: as_text(explanation_parts(it, is_whole=True)),
        "JSON": lambda it: json.dumps(it.to_dict(), allow_nan=False),
    },
    "check": {
        "text": repr,
        "all": lambda it: as_text(verdict_parts(it, is_whole=True)),
        "JSON": lambda it: json.dumps(it.to_dict(), allow_nan=False),
    },
}


def report_violations(documents: Documents) -> Iterator[str]:
    """Yield the laws that are broken when a store is explained and checked."""
    opened = Opened(documents)
    if opened.is_huge_index:
        return  # another open was made than is told of
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
        if store.chunk_gets:
            yield f"{name} reads chunks: {list(store.chunk_gets)}"
        if name == "explain" and error is None:
            yield from _told_otherwise(report.value, given)
        for way, make in ways.items():
            shown = attempt(make, report.value)
            if shown.error is not None:
                yield f"{name} cannot be shown as {way}: {described(shown.error)}"
            elif raw := {it for it in set(str(shown.value)) - {"\n"} if printable(it) != it}:
                yield f"{name} as {way} has letters that are not printable: {raw!r}"
        if attempt(lambda it: pickle.loads(pickle.dumps(it)), report.value).value != report.value:
            yield f"{name} cannot be pickled"


def _told_otherwise(explanation: Explanation, given: tuple[Warning, ...]) -> Iterator[str]:
    """Yield what only one of an explanation and of the warnings of an open tells."""
    told = [it for it in given if isinstance(it, XGroupWarning)]
    named = [(it, TELLING[it.kind], _anonymous(it.text)) for it in explanation.problems]
    for problem, kind, text in named:
        if not any(
            type(it) is kind and text in _anonymous(str(it)) and {*problem.arrays} <= {*it.paths}
            for it in told
        ):
            yield f"explain alone tells: {problem.kind}: {problem.text}"
    for warning in told:
        shown = _anonymous(str(warning))
        is_known = any(type(warning) is kind and text in shown for _it, kind, text in named)
        if not (is_known or any(words in shown for words in OF_VALUES)):
            yield f"explain does not tell: {type(warning).__name__}: {warning}"


def _anonymous(text: str) -> str:
    """Return a text without the name of the store, which is another one where reads are recorded."""
    return re.sub(r"memory://\d+|recording store", "the store", text)
