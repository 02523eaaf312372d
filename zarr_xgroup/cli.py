"""The command line: ``xgroup``, or ``python -m zarr_xgroup``.

The exit status is that of `_STATUSES`; 130 after Ctrl-C, and 141 if the output is no longer read. If standard output or
error is closed from the beginning, nothing is printed there, and the status is the same.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import zarr_xgroup
from zarr_xgroup._requirements import missing_package
from zarr_xgroup.conventions.registry import named_conventions
from zarr_xgroup.errors import XGroupError
from zarr_xgroup.options import group_filter_of
from zarr_xgroup.redaction import presentable
from zarr_xgroup.storage.reading import counted

# rich, and what draws with it, is imported when something is drawn.

#: How many seconds of reading nothing is shown.
_PATIENCE = 1.0

_CLEAN, _PROBLEMS, _FAILED, _NOT_SHOWN = 0, 1, 2, 3
_STATUSES = (
    "Exit status: 0: nothing is wrong. 1: check found something to fix. 2: the store could not be "
    "opened, or the command line is wrong. 3: the result could not be shown: a package is missing, or a "
    "file cannot be written."
)
#: As of a process that a signal ended: 128 and the number of the signal.
_INTERRUPTED, _NOT_READ = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the command line names.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.

    Returns
    -------
    int
        The exit status.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Else the next file that is opened, one of the store, would be taken for the stream.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8", closefd=False))
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            # Not every encoding has every letter of a translation, or of a name.
            stream.reconfigure(errors="backslashreplace")
    # What libraries log of an error, tracebacks and all, is told in a sentence.
    logging.basicConfig(handlers=[logging.NullHandler()])
    try:
        return _run(arguments)
    finally:
        # Python would end with another status, and complain, if it could not print what is left.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command, and return its status; an error is one sentence."""
    parser = _parser()
    try:
        try:
            options = parser.parse_args(arguments)
            status: int = options.run(options)
        finally:
            sys.stdout.flush()
    except argparse.ArgumentTypeError as error:
        parser.error(str(error))
    except BrokenPipeError:
        return _NOT_READ
    except KeyboardInterrupt:
        return _INTERRUPTED
    except XGroupError as error:
        _tell(str(error))
        return _FAILED
    except ImportError as error:
        if (missing := missing_package([error])) is None:
            raise
        _tell(missing)
        return _NOT_SHOWN
    except OSError as error:
        _tell(f"the output cannot be written: {error.strerror or error}")
        return _NOT_SHOWN
    return status


def _tell(text: str) -> None:
    with suppress(OSError):  # nobody reads it
        print(f"xgroup: {presentable(text)}", file=sys.stderr)


# What can be written.


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints quote nothing that is secret."""

    def error(self, message: str) -> NoReturn:
        super().error(presentable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="xgroup",
        description=(
            "See what hierarchical Zarr stores say of their coordinates, and what engine 'xgroup' "
            "of xarray makes of it."
        ),
        epilog=_STATUSES,
    )
    parser.add_argument("--version", action="version", version=zarr_xgroup.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, run, text in (
        (
            "explain",
            _explain,
            "Show what is in a store, and where its arrays get their coordinates from.",
        ),
        ("check", _check, "Check whether a store follows the conventions that it declares."),
        ("demo", _demo, "Open a small store with engine zarr and with engine xgroup and compare."),
    ):
        command = commands.add_parser(name, help=text, description=text, epilog=_STATUSES)
        command.set_defaults(run=run)
        if run is _demo:
            continue
        _add_options_of_an_open(command)
        output = command.add_mutually_exclusive_group()
        output.add_argument("--json", action="store_true", help="print it as JSON")
        if run is _explain:
            text = "write it as an HTML page to a file"
            output.add_argument("--html", metavar="FILE", type=Path, help=text)
        output.add_argument("--all", action="store_true", help="show everything, nothing folded")
    return parser


def _add_options_of_an_open(parser: argparse.ArgumentParser) -> None:
    """Add the store, and how it is opened and understood."""

    def convention(name: str) -> str:
        try:
            named_conventions(name)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return name

    add = parser.add_argument
    repeated: Any = {"action": "append", "default": []}
    add("store", metavar="STORE", help="a path, a URL, or a chain of URLs")
    add("--group", metavar="PATH", help="only this group, with all groups in it")
    text = "only groups that match a pattern ('*/r10m'), and the groups that contain them"
    add("--group-filter", metavar="PATTERN", help=text)
    text = "an option of the storage, as JSON or as text (-o anon=true); can be repeated"
    form: Any = {"metavar": "KEY=VALUE", "type": _setting, "dest": "storage_options"}
    add("-o", "--option", help=text, **form, **repeated)
    text = "use consolidated metadata, or do not; else if there is some"
    add("--consolidated", action=argparse.BooleanOptionalAction, help=text)
    add("--zarr-format", type=int, choices=(2, 3), help="where a store has both")
    text = (
        "a convention that all arrays follow without saying so, or auto for those whose marks "
        "they have; can be repeated"
    )
    add("--assume", metavar="NAME", type=convention, help=text, **repeated)
    text = "a storage option of other stores, whose URI begins so; can be repeated"
    add("--cross-store-option", metavar=("PREFIX", "KEY=VALUE"), nargs=2, help=text, **repeated)
    text = "follow references to stores whose URI begins so wherever that leads"
    add("--cross-store", metavar="PREFIX", help=text, **repeated)


def _setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of an option: JSON where it is JSON, else text."""
    key, separator, value = text.partition("=")
    if not (key and separator):
        message = "an option is written KEY=VALUE"
        raise argparse.ArgumentTypeError(message)
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _options_of_an_open(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of an open call that the command line gives."""
    others: dict[str, dict[str, Any]] = {prefix: {} for prefix in options.cross_store}
    for prefix, setting in options.cross_store_option:
        others.setdefault(prefix, {}).update([_setting(setting)])
    given = {
        "group": options.group,
        "group_filter": options.group_filter,
        "consolidated": options.consolidated,
        "storage_options": dict(options.storage_options),
        "zarr_format": options.zarr_format,
        "cross_store_storage_options": others,
        "assume_conventions": options.assume,
    }
    try:
        group_filter_of({"group": options.group, "group_filter": options.group_filter})
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return {name: value for name, value in given.items() if value not in (None, {}, [])}


# The commands.


def _explain(options: argparse.Namespace) -> int:
    with _reading():
        explanation = zarr_xgroup.explain(options.store, **_options_of_an_open(options))
    if options.json:
        _print_json(explanation)
    elif options.html is not None:
        from zarr_xgroup.report.page import page

        text = page(explanation)
        try:
            options.html.write_text(text, encoding="utf-8")
        except OSError as error:
            _tell(f"{options.html} cannot be written: {error.strerror}")
            return _NOT_SHOWN
    else:
        from zarr_xgroup.report.terminal import StreamConsole, explanation_parts

        parts = explanation_parts(explanation, is_whole=options.all, hint=" (--all)")
        StreamConsole(sys.stdout).show(parts)
    return _CLEAN


def _check(options: argparse.Namespace) -> int:
    with _reading():
        verdict = zarr_xgroup.check(options.store, **_options_of_an_open(options))
    if options.json:
        _print_json(verdict)
    else:
        from zarr_xgroup.report.terminal import StreamConsole, verdict_parts

        parts = verdict_parts(verdict, is_whole=options.all, hint=" (--all)")
        StreamConsole(sys.stdout).show(parts)
    return _CLEAN if verdict.is_clean else _PROBLEMS


def _demo(_options: argparse.Namespace) -> int:
    from zarr_xgroup import demo

    return demo.main()


def _print_json(result: zarr_xgroup.Explanation | zarr_xgroup.Verdict) -> None:
    """Print a result as JSON in ASCII letters: a terminal cannot take them for control sequences."""
    json.dump(result.to_dict(), sys.stdout, indent=2)
    print()


@contextmanager
def _reading() -> Iterator[None]:
    """Show a progress bar in a terminal, and print warnings as one sentence each."""
    with warnings.catch_warnings(record=True) as given:
        try:
            with _progress():
                yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in given):
                _tell(text)


@contextmanager
def _progress() -> Iterator[None]:
    """Show in a terminal how much of the metadata is read, once that takes longer than a second."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("NO_COLOR"):
        yield
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        from zarr_xgroup.report.terminal import StreamConsole
    except ImportError:  # what is drawn afterwards says so; JSON does without
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console, end = StreamConsole(sys.stderr), time.monotonic() + _PATIENCE
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task("Reading metadata", visible=False)

        def show(read: int, asked: int) -> None:
            is_late = time.monotonic() > end
            progress.update(task, completed=read, total=asked, visible=is_late)

        with counted(show):
            yield
