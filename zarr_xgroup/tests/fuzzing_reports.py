"""The laws that hold for explanations and checks of every store, whichever it is."""

import json
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

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
from zarr_xgroup.cli import workflow_commands
from zarr_xgroup.redaction import printable
from zarr_xgroup.report.checking import Verdict
from zarr_xgroup.report.explanation import Explanation
from zarr_xgroup.report.page import page
from zarr_xgroup.report.terminal import as_text, explanation_parts, verdict_parts
from zarr_xgroup.tests.builders import Contents, recording_store
from zarr_xgroup.tests.outcomes import (
    OF_DOCUMENTS,
    Outcome,
    Violation,
    attempt,
    place_of,
    traceback_of,
)

Report = TypeVar("Report", bound=Explanation | Verdict)

#: Which class of warnings tells a problem of each kind.
_TELLING: Mapping[str, type[XGroupWarning]] = {
    "problem": XGroupResolutionWarning,
    "choice": XGroupResolutionWarning,
    "dimension": XGroupDimensionWarning,
    "name": XGroupNameWarning,
    "metadata": XGroupMetadataWarning,
    "no principal convention": XGroupNoPrincipalWarning,
}

#: What warnings say of values, or of how Datasets fit together: an explanation does not know it.
_OF_VALUES = (
    "cannot decode it: ",
    "opened with its times undecoded: ",
    ": opened without '",
    "cannot be read",
    " is something else here or cannot be a name",
    " in a DataTree",
)


def report_violations(
    contents: Contents, options: Mapping[str, Any], opened: Outcome[Any]
) -> Iterator[Violation]:
    """Yield the laws that are broken when a store is explained and checked.

    Parameters
    ----------
    contents : mapping
        What is stored by key.
    options : mapping
        Those of the open.
    opened : Outcome
        What came of it, as a tree.
    """
    explained = attempt(_read, zarr_xgroup.explain, contents, options)
    checked = attempt(_read, zarr_xgroup.check, contents, options)
    for name, report in (("explain", explained), ("check", checked)):
        yield from _of_call(name, report, opened)
    if explained.value is not None:
        if opened.value is not None:
            yield from _told_otherwise(explained.value, opened.warnings)
        yield from _of_outputs(explained.value, _outputs_of_explanation(explained.value))
    if checked.value is not None:
        yield from _of_outputs(checked.value, _outputs_of_verdict(checked.value))


def _read(
    function: Callable[..., Report], contents: Contents, options: Mapping[str, Any]
) -> Report:
    """Return what a function makes of a store of which it reads documents only."""
    store = recording_store(contents)
    report = function(store, **options)
    if store.chunk_gets:
        raise ChunkReadError(list(store.chunk_gets))
    return report


class ChunkReadError(Exception):
    """A chunk was read for what is said of metadata."""


def _of_call(name: str, report: Outcome[Any], opened: Outcome[Any]) -> Iterator[Violation]:
    """Yield errors and warnings that are not to be: what an open raises is raised as well."""
    error = report.error
    if error is not None and type(error) is not type(opened.error):
        kind = f"{type(error).__name__} in {place_of(error)}"
        yield Violation(f"{name} raises", kind, traceback_of(error))
    for warning in report.warnings:
        of_xarray = isinstance(warning, xr.SerializationWarning)  # of attributes, as on opening
        if of_xarray or str(warning).startswith(OF_DOCUMENTS):
            continue
        yield Violation(f"{name} warns", type(warning).__name__, str(warning))


def _told_otherwise(explanation: Explanation, given: tuple[Warning, ...]) -> Iterator[Violation]:
    """Yield what only one of an explanation and of the warnings of an open tells."""
    told = [it for it in given if isinstance(it, XGroupWarning)]
    named = [(it, _TELLING[it.kind], _anonymous(it.text)) for it in explanation.problems]
    for problem, kind, text in named:
        if not any(
            type(it) is kind and text in _anonymous(str(it)) and {*problem.arrays} <= {*it.paths}
            for it in told
        ):
            yield Violation("explain alone tells", f"of a {problem.kind}", problem.text)
    for warning in told:
        shown = _anonymous(str(warning))
        is_known = any(type(warning) is kind and text in shown for _it, kind, text in named)
        if not (is_known or any(words in shown for words in _OF_VALUES)):
            yield Violation("explain does not tell", type(warning).__name__, str(warning))


def _anonymous(text: str) -> str:
    """Return a text without the name of the store, which is another one where reads are recorded."""
    return re.sub(r"memory://\d+|recording store", "the store", text)


# What is made of them.


def _of_outputs(
    report: Explanation | Verdict, outputs: Mapping[str, Callable[[], str]]
) -> Iterator[Violation]:
    """Yield what is wrong with what is shown of a report, and with its JSON."""
    name = type(report).__name__
    makers: dict[str, Callable[[], str]] = {
        **outputs,
        "JSON": lambda: json.dumps(report.to_dict(), allow_nan=False),
    }
    for kind, make in makers.items():
        made = attempt(make)
        if made.error is not None:
            at = f"{name} as {kind}: {type(made.error).__name__} in {place_of(made.error)}"
            yield Violation("cannot be shown", at, traceback_of(made.error))
        elif made.value is not None and (raw := _raw_letters(made.value)):
            yield Violation("shows what is obeyed", f"{name} as {kind}", repr(raw))
    if attempt(lambda: pickle.loads(pickle.dumps(report))).value != report:
        yield Violation("cannot be pickled", name, "")


def _outputs_of_explanation(explanation: Explanation) -> dict[str, Callable[[], str]]:
    return {
        "text": partial(repr, explanation),
        "a page": partial(page, explanation),
        "a notebook's": explanation._repr_html_,
        "all": lambda: as_text(explanation_parts(explanation, is_whole=True)),
    }


def _outputs_of_verdict(verdict: Verdict) -> dict[str, Callable[[], str]]:
    return {
        "text": partial(repr, verdict),
        "commands": lambda: "\n".join(_lines_of_commands(verdict)),
        "all": lambda: as_text(verdict_parts(verdict, is_whole=True)),
    }


def _lines_of_commands(verdict: Verdict) -> Iterator[str]:
    """Yield workflow commands, each of which is to be one line."""
    for line in workflow_commands(verdict.store, verdict.mistakes):
        assert "\n" not in line
        yield line


def _raw_letters(text: str) -> set[str]:
    """Return the letters of an output that a terminal or an encoding does not show."""
    return {letter for letter in set(text) if letter != "\n" and printable(letter) != letter}
