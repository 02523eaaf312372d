"""The command line: ``xgroup``, or ``python -m zarr_xgroup``.

`_STATUSES` describes the exit status. It is 130 after Ctrl-C, and 141 if the reader of the output is closed. A standard output
or error that is closed from the beginning does not change the status.
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

# rich, and the modules that use it, are imported only when a result is drawn.

#: After how many seconds of reading the progress is shown.
_PATIENCE = 1.0

_CLEAN, _PROBLEMS, _FAILED, _NOT_SHOWN = 0, 1, 2, 3
_STATUSES = (
    "Exit status: 0: success. 1: check found problems. 2: the store could not be opened, or the "
    "command line is wrong. 3: the result could not be shown, because a package is missing or a "
    "file cannot be written."
)
#: The statuses of processes ended by a signal: 128 plus the number of the signal.
_INTERRUPTED, _NOT_READ = 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command and its arguments. Default: those of the process.

    Returns
    -------
    int
        The exit status.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Otherwise the next opened file, such as one of the store, would become the stream.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8", closefd=False))
        if isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            # The encoding may not have all characters of a translation or a name.
            stream.reconfigure(errors="backslashreplace")
    # Libraries log errors with tracebacks; the command prints one sentence instead.
    logging.basicConfig(handlers=[logging.NullHandler()])
    try:
        return _run(arguments)
    finally:
        # If the rest of the output cannot be written, Python would print an error and change the status.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command, print an error as one sentence, and return the status."""
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
        _print_error(str(error))
        return _FAILED
    except ImportError as error:
        if (missing := missing_package([error])) is None:
            raise
        _print_error(missing)
        return _NOT_SHOWN
    except OSError as error:
        _print_error(f"the output cannot be written: {error.strerror or error}")
        return _NOT_SHOWN
    return status


def _print_error(text: str) -> None:
    with suppress(OSError):  # the stream is closed
        print(f"xgroup: {presentable(text)}", file=sys.stderr)


# The command line.


class _Parser(argparse.ArgumentParser):
    """A parser whose errors contain no secrets."""

    def error(self, message: str) -> NoReturn:
        super().error(presentable(message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="xgroup",
        description=(
            "Explain where the arrays of hierarchical Zarr stores get their coordinates in xarray's "
            "engine 'xgroup', and check the metadata."
        ),
        epilog=_STATUSES,
    )
    parser.add_argument("--version", action="version", version=zarr_xgroup.__version__)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, run, text in (
        (
            "explain",
            _explain,
            "Show the content of a store, and the sources of its coordinates.",
        ),
        ("check", _check, "Check a store against the conventions that it declares."),
        ("demo", _demo, "Compare engine zarr and engine xgroup on a small store."),
    ):
        command = commands.add_parser(name, help=text, description=text, epilog=_STATUSES)
        command.set_defaults(run=run)
        if run is _demo:
            continue
        _add_options_for_opening(command)
        output = command.add_mutually_exclusive_group()
        output.add_argument("--json", action="store_true", help="print JSON")
        if run is _explain:
            text = "write an HTML page to a file"
            output.add_argument("--html", metavar="FILE", type=Path, help=text)
        output.add_argument("--all", action="store_true", help="show everything, without folding")
    return parser


def _add_options_for_opening(parser: argparse.ArgumentParser) -> None:
    """Add the store and the options for opening it."""

    def convention(name: str) -> str:
        try:
            named_conventions(name)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return name

    add = parser.add_argument
    repeated: Any = {"action": "append", "default": []}
    add("store", metavar="STORE", help="a path, a URL, or a chain of URLs")
    add("--group", metavar="PATH", help="only this group, with all groups below it")
    text = "only groups that match a pattern ('*/r10m'), and the groups that contain them"
    add("--group-filter", metavar="PATTERN", help=text)
    text = "a storage option, as JSON or text (-o anon=true); can be repeated"
    form: Any = {"metavar": "KEY=VALUE", "type": _setting, "dest": "storage_options"}
    add("-o", "--option", help=text, **form, **repeated)
    text = "use consolidated metadata or not; default: if the store has them"
    add("--consolidated", action=argparse.BooleanOptionalAction, help=text)
    add("--zarr-format", type=int, choices=(2, 3), help="for a store with both formats")
    text = (
        "a convention to treat as declared by all arrays, or auto for the conventions whose "
        "attributes they have; can be repeated"
    )
    add("--assume", metavar="NAME", type=convention, help=text, **repeated)
    text = "a storage option of other stores whose URI has this prefix; can be repeated"
    add("--cross-store-option", metavar=("PREFIX", "KEY=VALUE"), nargs=2, help=text, **repeated)
    text = "follow references to all stores whose URI has this prefix"
    add("--cross-store", metavar="PREFIX", help=text, **repeated)


def _setting(text: str) -> tuple[str, Any]:
    """Return the name and the value of an option: a JSON value, or the text if it is not JSON."""
    key, separator, value = text.partition("=")
    if not (key and separator):
        message = "an option must have the form KEY=VALUE"
        raise argparse.ArgumentTypeError(message)
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def _options_for_opening(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options for opening from the command line."""
    others: dict[str, dict[str, Any]] = {prefix: {} for prefix in options.cross_store}
    for prefix, setting in options.cross_store_option:
        others.setdefault(prefix, {}).update([_setting(setting)])
    values = {
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
    return {name: value for name, value in values.items() if value not in (None, {}, [])}


# The commands.


def _explain(options: argparse.Namespace) -> int:
    with _reading():
        explanation = zarr_xgroup.explain(options.store, **_options_for_opening(options))
    if options.json:
        _print_json(explanation)
    elif options.html is not None:
        from zarr_xgroup.report.page import page

        text = page(explanation)
        try:
            options.html.write_text(text, encoding="utf-8")
        except OSError as error:
            _print_error(f"{options.html} cannot be written: {error.strerror}")
            return _NOT_SHOWN
    else:
        from zarr_xgroup.report.terminal import StreamConsole, explanation_parts

        parts = explanation_parts(explanation, is_whole=options.all, hint=" (--all)")
        StreamConsole(sys.stdout).show(parts)
    return _CLEAN


def _check(options: argparse.Namespace) -> int:
    with _reading():
        verdict = zarr_xgroup.check(options.store, **_options_for_opening(options))
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
    """Print a result as JSON in ASCII, which has no control sequences."""
    json.dump(result.to_dict(), sys.stdout, indent=2)
    print()


@contextmanager
def _reading() -> Iterator[None]:
    """Show a progress bar in a terminal, and print warnings as one sentence each."""
    with warnings.catch_warnings(record=True) as recorded:
        try:
            with _progress():
                yield
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in recorded):
                _print_error(text)


@contextmanager
def _progress() -> Iterator[None]:
    """Show the progress of reading in a terminal, if reading takes longer than a second."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()) or os.environ.get("NO_COLOR"):
        yield
        return
    try:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        from zarr_xgroup.report.terminal import StreamConsole
    except ImportError:  # drawing the result reports it; JSON does not need rich
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console, end = StreamConsole(sys.stderr), time.monotonic() + _PATIENCE
    with Progress(
        *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task("Reading metadata", visible=False)

        def show(read: int, requested: int) -> None:
            is_late = time.monotonic() > end
            progress.update(task, completed=read, total=requested, visible=is_late)

        with counted(show):
            yield
