"""The command line: arguments, output, and exit status."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import zarr_xgroup
from zarr_xgroup import XGroupPluginWarning, cli
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.report.page import page as made
from zarr_xgroup.report.results import Verdict
from zarr_xgroup.tests.builders import Nodes, build, stored, write_local
from zarr_xgroup.tests.explanations import Stream, axes, of_groups, sized
from zarr_xgroup.tests.tables import rows

REPOSITORY = Path(__file__).parents[2]
RULE = Rule("cs/unique-abbreviations", "cs 0.1", "Axes: abbreviation, unit")
AXES = Place("/sea/sst", "/attributes/cs/crs/0/axes")
MISTAKE = Finding(RULE, AXES, "two axes are called 'X'", "one of 'X', 'Y', 'Z', 'T' for each")
NODES: Nodes = {
    "": {},
    "sea": {},
    "sea/sst": stored([1.0, 2.0], "x"),
    "sea/x": stored([10.0, 20.0], "x"),
    "marked": sized("y x", 2, 3, **{"proj:epsg": "EPSG:0"}),
    "broken": sized("y x", 2, 3, **axes(x={"regular": [1.0, "one"]})),
}

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a store: in the working directory, as all is that a test writes."""
    monkeypatch.chdir(tmp_path)
    write_local(build(NODES), tmp_path / "ocean.zarr")
    return "ocean.zarr"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What `explain` and `check` are asked for: they find nothing, and one mistake."""
    given: dict[str, Any] = {}

    def explain(store: str, **options: Any) -> Any:
        given.update(store=store, **options)
        return of_groups()

    def check(store: str, **_options: Any) -> Verdict:
        return Verdict(store, "/", (MISTAKE,))

    monkeypatch.setattr(zarr_xgroup, "explain", explain)
    monkeypatch.setattr(zarr_xgroup, "check", check)
    return given


#: Command lines: the exit status, and what is printed and told, or how that begins.
COMMANDS: dict[str, tuple[str, int, str, str]] = {
    "a tree of groups and arrays": ("explain ocean.zarr", 0, "├── sst (x: 2) float64", ""),
    "a group as JSON": ("explain ocean.zarr --json --group /sea", 0, '"path": "/sea/sst"', ""),
    "part of the tree as JSON": ("explain ocean.zarr --json --group-filter s?a", 0, '"path": "/sea/sst"', ""),
    "part of the tree": ("check ocean.zarr --group-filter sea", 1, "Instead: ", ""),
    "a filter together with a group": ("check ocean.zarr --group sea --group-filter s*", 2, "", "usage: xgroup"),
    "a filter that is empty": ("explain ocean.zarr --group-filter .", 2, "", "usage: xgroup"),
    "a page": ("explain ocean.zarr --html page.html", 0, "", ""),
    "a page that cannot be written": ("explain ocean.zarr --html no/page.html", 3, "",
        "xgroup: no/page.html cannot be written: No such file or directory\n"),
    "what auto assumes": ("explain ocean.zarr --assume auto", 0, "proj:epsg", ""),
    "no problems found": ("check ocean.zarr --group sea", 0, "no problems found", ""),
    "problems": ("check ocean.zarr", 1, "Instead: ", ""),
    "problems as JSON": ("check ocean.zarr --json", 1, '"mistakes": [', ""),
    "no store": ("explain no.zarr", 2, "", "xgroup: "),
    "no store to check": ("check no\x1b[31m.zarr", 2, "", "xgroup: "),
    "a URL with secrets": ("check nosuch://me:SECRET@host/a.zarr?sig=SECRET", 2, "", "xgroup: "),
    "an option with a secret": ("explain . -o token=SECRET", 2, "", "xgroup: "),
    "no path of a group": ("check . --group a/../b", 2, "", "xgroup: 'a/../b' is not a valid path of a group"),
    "the version": ("--version", 0, zarr_xgroup.__version__, ""),
    "help": ("--help", 0, "Exit status: 0: success. 1: check found problems.", ""),
    "help of a command": ("explain --help", 0, "a path, a URL, or a chain of URLs", ""),
    **{it: (it, 2, "", "usage: xgroup") for it in (
        "", "mend a.zarr", "explain", "explain a.zarr -o SECRET", "explain a.zarr -o =SECRET",
        "explain a.zarr --cross-store-option s3://b SECRET", "explain a.zarr --assume nonsense",
        "explain a.zarr http://me:SECRET@host/b.zarr", "explain a.zarr --json --html a.html", "explain a.zarr \x1b[31m",
    )},
}  # fmt: skip


@rows(COMMANDS, "arguments, status, printed, told")
def test_output_and_exit_status_of_a_command(
    store: str, capsys: Capture, arguments: str, status: int, printed: str, told: str
) -> None:
    try:
        ended: Any = cli.main(arguments.split())
    except SystemExit as end:
        ended = end.code
    out, err = capsys.readouterr()
    assert ended == status
    assert printed in (" ".join(out.split()) if "help" in arguments else out)
    assert err.startswith(told)
    assert bool(out) == bool(printed)
    assert bool(err) == bool(told)
    assert err.count("\n") == 1 or not told.startswith("xgroup: ")
    assert "SECRET" not in err
    assert "\x1b" not in err + out
    if arguments.endswith("page.html") and not status:
        assert Path("page.html").read_text(encoding="utf-8") == made(zarr_xgroup.explain(store))


def test_options_for_opening_are_passed_on(asked: dict[str, Any]) -> None:
    arguments = ["explain", "s3://bucket/a.zarr", "--group", "sea", "--no-consolidated"]
    arguments += ["--zarr-format", "2", "--assume", "cf", "--assume", "Proj"]
    arguments += ["-o", "anon=true", "-o", "profile=me", "--option", 'client_kwargs={"a": [1]}']
    arguments += ["--cross-store-option", "s3://b", "anon=false", "--cross-store", "file:///c"]
    arguments += ["--cross-store-option", "s3://b", "key=a=b"]
    assert cli.main(arguments) == 0
    assert asked == {
        "store": "s3://bucket/a.zarr",
        "group": "sea",
        "consolidated": False,
        "zarr_format": 2,
        "assume_conventions": ["cf", "Proj"],
        "storage_options": {"anon": True, "profile": "me", "client_kwargs": {"a": [1]}},
        "cross_store_storage_options": {"s3://b": {"anon": False, "key": "a=b"}, "file:///c": {}},
    }
    asked.clear()
    cli.main(["explain", "a.zarr", "--group-filter", "*/r10m"])
    assert asked == {"store": "a.zarr", "group_filter": "*/r10m"}
    asked.clear()
    cli.main(["explain", "a.zarr"])  # nothing stays from one run to the next
    assert asked == {"store": "a.zarr"}


def test_json_is_printed_in_ascii(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    odd = "\x1b[2J\u202e\ud800é"
    mistake = Finding(Rule("a/b", "document", odd), AXES, "text", "")
    monkeypatch.setattr(zarr_xgroup, "check", lambda store: Verdict(store, "/", (mistake,)))
    cli.main(["check", "a.zarr", "--json"])
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed)["mistakes"][0]["rule"]["section"] == odd


# How it ends.


def test_warnings_are_printed_as_sentences(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def explain(_store: str) -> Any:
        for _time in range(2):
            warnings.warn(XGroupPluginWarning("odd \x1b[31m\nplug-in"), stacklevel=1)
        return of_groups()

    monkeypatch.setattr(zarr_xgroup, "explain", explain)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert cli.main(["explain", "a.zarr"]) == 0
    assert capsys.readouterr().err == "xgroup: odd \\x1b[31m\\nplug-in\n"


def test_ctrl_c_ends_it_quietly(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(_store: str) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(zarr_xgroup, "explain", interrupted)
    assert cli.main(["explain", "a.zarr"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "arguments", [["explain"], ["explain", "--json"], ["check", "--json"], ["check"]]
)
@pytest.mark.usefixtures("asked")
def test_a_closed_pipe_ends_the_command_silently(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, arguments: list[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main([*arguments, "a.zarr"]) == 141
        print("what is printed from now on goes nowhere", file=stream, flush=True)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.usefixtures("asked")
def test_a_full_disk_is_reported_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main(["explain", "a.zarr"]) == 3
    told = capsys.readouterr().err
    assert told == "xgroup: the output cannot be written: No space left on device\n"


def test_characters_outside_the_encoding_are_escaped(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    stream = Stream(encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["check", "海.zarr"]) == 1
    assert r"\u6d77.zarr: errors: 1" in stream.text


# How far it is.


@pytest.mark.parametrize(
    ("patience", "no_color", "terminals", "is_shown"),
    [
        (-1.0, "", (True, True), True),
        (600, "", (True, True), False),
        (-1.0, "1", (True, True), False),
        (-1.0, "", (False, True), False),
        (-1.0, "", (True, False), False),
    ],
)
def test_progress_is_shown_after_a_second_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
    store: str,
    patience: float,
    no_color: str,
    terminals: tuple[bool, bool],
    is_shown: bool,
) -> None:
    def run(name: str) -> tuple[int, str, str]:
        streams = [Stream(terminal=it) for it in terminals]
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        return cli.main(["explain", name]), streams[0].text, streams[1].text

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(cli, "_PATIENCE", patience)
    status, printed, told = run(store)
    assert status == 0
    assert "sst" in printed
    assert "Reading metadata" not in printed
    assert bool(re.search(r"Reading metadata.*(\d+)/\1", told, re.DOTALL)) == is_shown
    assert told.endswith("\x1b[2K") or not is_shown  # it is gone
    status, _printed, told = run("no.zarr")
    assert status == 2
    shown = told.partition("xgroup: ")[0]
    assert shown.rfind("\x1b[?25h") >= shown.rfind("\x1b[?25l")  # the cursor is back
    assert "Reading" not in shown or "\x1b[2K" in shown.rpartition("Reading")[2]


# As a process.


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LANGUAGE": "en", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.run(arguments, check=False, env=environment, timeout=300, **options)


def test_the_console_script_is_this_command(store: str) -> None:
    project = REPOSITORY / "pyproject.toml"
    if project.is_file():
        scripts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]
        module, function = scripts["xgroup"].split(":")
        assert getattr(import_module(module), function) is cli.main
    script = Path(sys.executable).parent / "xgroup"
    if "xgroup" not in entry_points(group="console_scripts").names or not script.is_file():
        pytest.skip("installed before there was a script")
    done = run(str(script), "explain", store, "--json")
    assert json.loads(done.stdout)["store"] == zarr_xgroup.explain(store).store


def test_json_needs_no_rich_and_libraries_log_nothing(store: str) -> None:
    program = (
        "import logging, sys, zarr_xgroup.cli\n"
        f"zarr_xgroup.cli.main(['explain', {store!r}, '--json'])\n"
        "logging.getLogger('gcsfs').error('a traceback')\n"
        "sys.exit('rich' in sys.modules)"
    )
    done = run(sys.executable, "-c", program)
    assert (done.returncode, done.stderr) == (0, "")


#: What a shell runs, and its status: streams that are closed, full, or read by nobody.
IN_A_SHELL = {
    "explain ocean.zarr --json <&- >&- 2>&-": 0,
    "check ocean.zarr 2>&-": 1,
    "demo >&-": 0,
    "explain no.zarr 2>/dev/full": 2,
    "explore ocean.zarr 2>/dev/full": 2,
    "check ocean.zarr": 141,
}


@pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
@pytest.mark.parametrize(("command", "status"), IN_A_SHELL.items())
def test_streams_change_only_the_output(store: str, command: str, status: int) -> None:
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    reading, writing = os.pipe()
    os.close(reading)
    options = {"stdout": writing} if status == 141 else {}
    shell = f"exec '{sys.executable}' -m zarr_xgroup {command}"
    done = run(str(shutil.which("sh")), "-c", shell, **options)
    os.close(writing)
    assert done.returncode == status
    assert not re.search("Error|Warning", done.stderr)
    assert not done.stdout or ">&-" not in command.replace("2>&-", "")
