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
from zarr_xgroup.conventions.registry import named_conventions
from zarr_xgroup.errors import XGroupError
from zarr_xgroup.options import TreeReportOptions, group_filter_of
from zarr_xgroup.redaction import presentable
from zarr_xgroup.storage.reading import counted

# rich, and the modules that use it, are imported only when a result is drawn, because that takes time.

#: After how many seconds of reading the progress is shown.
_PATIENCE = 1.0

_CLEAN, _PROBLEMS, _FAILED, _NOT_SHOWN = 0, 1, 2, 3
_STATUSES = (
    "Exit status: 0: success. 1: check found problems. 2: the store could not be opened, or the "
    "command line is wrong. 3: the result cannot be written to a file or the output."
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
            status = _demo() if options.command == "demo" else _report(options)
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
    for name, text in (
        ("explain", "Show the content of a store, and the sources of its coordinates."),
        ("check", "Check a store against the conventions that it declares."),
        ("demo", "Compare engine zarr and engine xgroup on a small store."),
    ):
        command = commands.add_parser(name, help=text, description=text, epilog=_STATUSES)
        if name == "demo":
            continue
        _add_options_for_opening(command)
        output = command.add_mutually_exclusive_group()
        output.add_argument("--json", action="store_true", help="print JSON")
        if name == "explain":
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
    form = {"metavar": "NAME", "type": convention, "dest": "assume_conventions"}
    add("--assume", help=text, **form, **repeated)
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


def _options_for_opening(arguments: argparse.Namespace) -> TreeReportOptions:
    """Return the options for opening from the command line."""
    values = {name: vars(arguments).get(name) for name in TreeReportOptions.__annotations__}
    values["storage_options"] = dict(arguments.storage_options)
    others: dict[str, dict[str, Any]] = {prefix: {} for prefix in arguments.cross_store}
    for prefix, setting in arguments.cross_store_option:
        others.setdefault(prefix, {}).update([_setting(setting)])
    values["cross_store_storage_options"] = others
    given: Any = {name: value for name, value in values.items() if value not in (None, {}, [])}
    try:
        group_filter_of(given)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    options: TreeReportOptions = given
    return options


# The commands.


def _report(arguments: argparse.Namespace) -> int:
    """Explain or check a store, and show the result."""
    is_check = arguments.command == "check"
    report: Any = zarr_xgroup.check if is_check else zarr_xgroup.explain
    with _reading():
        result = report(arguments.store, **_options_for_opening(arguments))
    if arguments.json:
        # ASCII has no control sequences.
        json.dump(result.to_dict(), sys.stdout, indent=2)
        print()
    elif not is_check and arguments.html is not None:
        from zarr_xgroup.report.page import page

        text = page(result)
        try:
            arguments.html.write_text(text, encoding="utf-8")
        except OSError as error:
            _print_error(f"{arguments.html} cannot be written: {error.strerror}")
            return _NOT_SHOWN
    else:
        from zarr_xgroup.report import terminal

        parts = terminal.verdict_parts if is_check else terminal.explanation_parts
        drawn = parts(result, is_whole=arguments.all, hint=" (--all)")
        terminal.StreamConsole(sys.stdout).show(drawn)
    return _PROBLEMS if is_check and not result.is_clean else _CLEAN


def _demo() -> int:
    from zarr_xgroup import demo

    return demo.main()


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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from zarr_xgroup.report.terminal import StreamConsole

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
