"""The command line: what it takes, what it prints, and how it ends."""

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
import zarr

import zarr_xgroup
from zarr_xgroup import XGroupPluginWarning, cli
from zarr_xgroup.cli import workflow_commands
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, Place
from zarr_xgroup.report.checking import Verdict
from zarr_xgroup.report.explanation import Explanation
from zarr_xgroup.report.page import page as made
from zarr_xgroup.storage.reading import counted
from zarr_xgroup.tests.builders import Array, Group, build, some_pairs, write_local, write_zip
from zarr_xgroup.tests.report.test_terminal import Stream

REPOSITORY = Path(__file__).parents[2]
RULE = Rule("cs/unique-abbreviations", "cs 0.1", "Axes: abbreviation, unit")
AXES = Place("/sea/sst", "/attributes/cs/crs/0/axes")
MISTAKE = Finding(RULE, AXES, "two axes are called 'X'", "one of 'X', 'Y', 'Z', 'T' for each")

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The path of a store."""
    sea = Group({"sst": Array([1.0, 2.0], ("x",)), "x": Array([10.0, 20.0], ("x",))})
    return str(write_local(build(Group({"sea": sea})), tmp_path / "ocean.zarr"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the library is asked for, which finds nothing in its stores."""
    given: dict[str, Any] = {}

    def explain(store: str, **options: Any) -> Explanation:
        given.update(store=store, **options)
        return Explanation(store, "/", 3, is_consolidated=False)

    monkeypatch.setattr(zarr_xgroup, "explain", explain)
    return given


def finding(monkeypatch: pytest.MonkeyPatch, *mistakes: Finding) -> None:
    """Have `check` find mistakes."""

    def check(store: str, **_options: Any) -> Verdict:
        return Verdict(store, "/", mistakes)

    monkeypatch.setattr(zarr_xgroup, "check", check)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LANGUAGE": "en", "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        arguments, capture_output=True, text=True, check=False, env=environment, timeout=300
    )


# Ways in.


def test_python_runs_the_package(store: str) -> None:
    done = run(sys.executable, "-m", "zarr_xgroup", "explain", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert "├── sst (x: 2) float64" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_console_script_is_installed(store: str) -> None:
    scripts = {it.name: it.value for it in entry_points(group="console_scripts")}
    script = Path(sys.executable).parent / "xgroup"
    if "xgroup" not in scripts or not script.is_file():
        pytest.skip("installed before there was a script")
    done = run(str(script), "explain", store, "--json")
    assert json.loads(done.stdout)["store"] == store


@pytest.mark.skipif(
    not (REPOSITORY / "pyproject.toml").is_file(), reason="installed without pyproject.toml"
)
def test_the_console_script_is_this_command() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, function = project["scripts"]["xgroup"].split(":")
    assert getattr(import_module(module), function) is cli.main


def test_rich_is_imported_only_to_draw(store: str) -> None:
    program = (
        "import sys, zarr_xgroup, zarr_xgroup.cli\n"
        f"zarr_xgroup.cli.main(['explain', {store!r}, '--json'])\n"
        "sys.exit('rich' in sys.modules)"
    )
    assert run(sys.executable, "-c", program).returncode == 0


def test_version_and_help(capsys: Capture) -> None:
    for arguments, printed in (
        (["--version"], zarr_xgroup.__version__),
        (["--help"], "usage: xgroup"),
        (["explain", "--help"], "a path, a URL, or a chain of URLs"),
        (["--help"], "Exit status: 0: nothing is wrong. 1: check found something to mend."),
        (["check", "--help"], "2: the store could not be opened, the command line is wrong,"),
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        assert ended.value.code == 0
        assert printed in " ".join(capsys.readouterr().out.split())


# What it takes.


def test_options_of_an_open_are_passed_on(asked: dict[str, Any]) -> None:
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


@pytest.mark.parametrize("command", ["explain", "check"])
def test_what_auto_assumes(capsys: Capture, tmp_path: Path, command: str) -> None:
    group = zarr.create_group(tmp_path / "a.zarr", zarr_format=3)
    band = group.create_array("b", shape=(2, 3), dtype="u2", dimension_names=("y", "x"))
    band.attrs["proj:epsg"] = "EPSG:0"
    assert cli.main([command, str(tmp_path / "a.zarr"), "--assume", "auto"]) == (command == "check")
    assert "proj:epsg" in capsys.readouterr().out


def test_options_that_are_not_given_are_left_to_the_open(asked: dict[str, Any]) -> None:
    for _time in range(2):  # nothing stays from one run to the next
        cli.main(["explain", "a.zarr", "--cross-store", "s3://b"])
        asked.clear()
        cli.main(["explain", "a.zarr"])
        assert asked == {"store": "a.zarr"}


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["mend", "a.zarr"],
        ["explain"],
        ["explain", "a.zarr", "-o", "SECRET"],
        ["explain", "a.zarr", "-o", "=SECRET"],
        ["explain", "a.zarr", "--cross-store-option", "s3://b", "SECRET"],
        ["explain", "a.zarr", "--assume", "nonsense"],
        ["explain", "a.zarr", "http://me:SECRET@host/b.zarr"],
        ["explain", "a.zarr", "--json", "--html", "a.html"],
        ["explain", "a.zarr", "\x1b[31m"],
    ],
    ids=str,
)
def test_a_wrong_command_line_is_told_without_what_may_be_secret(
    asked: dict[str, Any], capsys: Capture, arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert told.startswith("usage: xgroup")
    assert "SECRET" not in told
    assert "\x1b" not in told
    assert not asked


# What it prints.


def test_explain_prints_json(store: str, capsys: Capture) -> None:
    assert cli.main(["explain", store, "--json", "--group", "/sea"]) == 0
    explanation = json.loads(capsys.readouterr().out)
    assert [group["path"] for group in explanation["groups"]] == ["/sea"]
    assert explanation == zarr_xgroup.explain(store, group="sea").to_dict()


def test_explain_writes_a_page(store: str, tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "page.html"
    assert cli.main(["explain", store, "--html", str(page)]) == 0
    assert page.read_text(encoding="utf-8") == made(zarr_xgroup.explain(store))
    assert cli.main(["explain", store, "--html", str(tmp_path / "no" / "page.html")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith("page.html cannot be written: No such file or directory\n")


def test_check_says_by_its_status_whether_there_is_something_to_mend(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    finding(monkeypatch)
    assert cli.main(["check", "a.zarr"]) == 0
    assert capsys.readouterr().out == "a.zarr: nothing to mend\n"
    finding(monkeypatch, MISTAKE)
    assert cli.main(["check", "a.zarr"]) == 1
    assert "Instead: one of 'X', 'Y', 'Z', 'T' for each" in capsys.readouterr().out
    assert cli.main(["check", "a.zarr", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["mistakes"][0]["text"] == MISTAKE.text
    assert cli.main(["check", "a.zarr", "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith("::error file=a.zarr/sea/sst,title=cs/unique-")
    finding(monkeypatch)
    assert cli.main(["check", "a.zarr", "--format", "github"]) == 0
    assert capsys.readouterr().out == ""


def test_json_is_printed_in_letters_of_ascii(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    rule = Rule("a/b", "document", "\x1b[2J\u202e\ud800é")
    finding(monkeypatch, Finding(rule, AXES, "text", ""))
    cli.main(["check", "a.zarr", "--json"])
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed)["mistakes"][0]["rule"]["section"] == "\x1b[2J\u202e\ud800é"


def test_workflow_commands_escape_what_they_say() -> None:
    odd = Place("/a,b:c%\nd")
    text = "100 %\n::stop-commands::x"
    mistakes = (MISTAKE, Finding(RULE, odd, text, "", "warning", (odd, AXES)))
    title = "title=cs/unique-abbreviations (cs 0.1%2C Axes%3A abbreviation%2C unit)"
    assert list(workflow_commands("a.zarr", mistakes)) == [
        (
            f"::error file=a.zarr/sea/sst,{title}::/sea/sst#/attributes/cs/crs/0/axes: "
            "two axes are called 'X'. Instead: one of 'X', 'Y', 'Z', 'T' for each"
        ),
        (
            f"::warning file=a.zarr/a%2Cb%3Ac%25\\nd,{title}"
            "::/a,b:c%25\\nd: 100 %25\\n::stop-commands::x. Instead:  (and 1 more)"
        ),
    ]


@pytest.mark.parametrize(
    ("name", "place", "file"),
    [
        ("ocean.zarr", AXES, "ocean.zarr/sea/sst/zarr.json"),
        ("ocean.zarr", Place(f"/{'long' * 100}"), f"ocean.zarr/{'long' * 100}"),
        ("two.zarr", Place("/a", "/attributes/cs"), "two.zarr/a/.zattrs"),
        ("two.zarr", Place("/a", "/dimension_names"), "two.zarr/a/.zarray"),
        ("all.zip", AXES, "all.zip"),
        ("s3://b/a.zarr/", AXES, "s3%3A//b/a.zarr/sea/sst"),
        ("ocean.zarr", Place("/x", "", "http://h/b.zarr"), "http%3A//h/b.zarr/x"),
    ],
)
@pytest.mark.usefixtures("store")
def test_workflow_commands_name_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, place: Place, file: str
) -> None:
    monkeypatch.chdir(tmp_path)
    two = build(Group({"a": Array([1.0], ("x",), {"b": 1})}), zarr_format=2)
    write_local(two, tmp_path / "two.zarr")
    write_zip(build(Group()), tmp_path / "all.zip")
    (line,) = workflow_commands(name, [Finding(RULE, place, "", "")])
    assert line.startswith(f"::error file={file},")


# How it ends.


@pytest.mark.parametrize("command", ["explain", "check"])
def test_a_store_that_cannot_be_opened_is_one_sentence(
    command: str, tmp_path: Path, capsys: Capture
) -> None:
    odd = tmp_path / "odd\x1b[31m\nname"
    for store, options, told in (
        (str(tmp_path / "no.zarr"), [], "no.zarr"),
        (str(odd), [], r"odd\x1b[31m\nname"),
        ("nosuch://me:SECRET@host/a.zarr?sig=SECRET", [], "nosuch"),
        (str(tmp_path), ["-o", "token=SECRET"], ""),
        (str(tmp_path), ["--group", "a/../b"], "'a/../b' is not the path of a group"),
    ):
        assert cli.main([command, store, *options]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("xgroup: ")
        assert printed.err.count("\n") == 1
        assert told in printed.err
        assert "SECRET" not in printed.err
        assert "\x1b" not in printed.err


def test_what_is_warned_of_is_a_sentence(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def explain(store: str, **_options: Any) -> Explanation:
        for _time in range(2):
            warnings.warn(XGroupPluginWarning("odd \x1b[31m\nplug-in"), stacklevel=1)
        return Explanation(store, "/", 3, is_consolidated=False)

    monkeypatch.setattr(zarr_xgroup, "explain", explain)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert cli.main(["explain", "a.zarr"]) == 0
    assert capsys.readouterr().err == "xgroup: odd \\x1b[31m\\nplug-in\n"


def test_ctrl_c_ends_it_quietly(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def interrupted(*_arguments: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(zarr_xgroup, "explain", interrupted)
    assert cli.main(["explain", "a.zarr"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "arguments", [["explain"], ["explain", "--json"], ["check", "--format=github"], ["check"]]
)
def test_it_ends_quietly_when_nobody_reads(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, asked: dict[str, Any], arguments: list[str]
) -> None:
    finding(monkeypatch, MISTAKE)
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main([*arguments, "a.zarr"]) == 141
        print("what is printed from now on goes nowhere", file=stream, flush=True)
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, asked: dict[str, Any]
) -> None:
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main(["explain", "a.zarr"]) == 2
    told = capsys.readouterr().err
    assert told == "xgroup: the output cannot be written: No space left on device\n"


def test_what_the_encoding_has_not_is_shown_as_escapes(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    stream = Stream(encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["explain", "海.zarr"]) == 0
    assert r"\u6d77.zarr: Zarr v3" in stream.text


# How far it is.


def explained(
    monkeypatch: pytest.MonkeyPatch, store: str, **terminals: bool
) -> tuple[int, str, str]:
    """Return the status, what is printed, and what is told meanwhile."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    streams = [Stream(terminal=terminals.get(name, True)) for name in ("out", "err")]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    status = cli.main(["explain", store])
    return status, streams[0].text, streams[1].text


def test_how_far_reading_is_shows_after_a_second(
    monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(cli, "_PATIENCE", -1.0)
    status, printed, told = explained(monkeypatch, store)
    assert status == 0
    assert "Reading metadata" in told
    assert re.search(r"(\d+)/\1", told)
    assert told.endswith("\x1b[2K")  # it is gone
    assert "Reading metadata" not in printed


@pytest.mark.parametrize(
    ("patience", "no_color", "terminals"),
    [
        (600, "", {}),
        (-1.0, "1", {}),
        (-1.0, "", {"out": False}),
        (-1.0, "", {"err": False}),
        (-1.0, "", {"out": False, "err": False}),
    ],
)
def test_nothing_is_shown_of_what_is_quick_or_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch,
    store: str,
    patience: float,
    no_color: str,
    terminals: dict[str, bool],
) -> None:
    monkeypatch.setattr(cli, "_PATIENCE", patience)
    monkeypatch.setenv("NO_COLOR", no_color)
    status, printed, told = explained(monkeypatch, store, **terminals)
    assert status == 0
    assert "sst" in printed
    assert "Reading" not in told
    assert told == "" or not (terminals or no_color)


def test_what_is_shown_goes_when_reading_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(cli, "_PATIENCE", -1.0)
    status, _printed, told = explained(monkeypatch, str(tmp_path / "no.zarr"))
    assert status == 2
    shown, _message, _reason = told.partition("xgroup: ")
    assert shown.rfind("\x1b[?25h") >= shown.rfind("\x1b[?25l")  # the cursor is back
    assert not shown or "\x1b[2K" in shown.rpartition("Reading")[2]  # and the bar is gone


def test_documents_are_counted_for_whoever_watches(store: str) -> None:
    told: list[tuple[int, int]] = []
    with counted(lambda read, asked: told.append((read, asked))):
        zarr_xgroup.explain(store)
    read, asked = told[-1]
    assert read == asked >= 4
    zarr_xgroup.explain(store)
    assert told[-1] == (read, asked)


def test_what_libraries_log_is_not_printed(store: str) -> None:
    program = (
        "import logging, sys, zarr_xgroup.cli\n"
        f"zarr_xgroup.cli.main(['explain', {store!r}, '--json'])\n"
        "logging.getLogger('gcsfs').error('a traceback')\n"
    )
    assert run(sys.executable, "-c", program).stderr == ""


# Streams that are closed.

SHELL = shutil.which("sh")
STORES = Path(__file__).parent / "stores"

#: What is run, and its status.
COMMANDS = {
    "check": (f"check --group values '{STORES / 'broken_refs.zarr'}'", 1),
    "explain": (f"explain --json --group axes '{STORES / 'cs_test.zarr'}'", 0),
    "demo": ("demo", 0),
    "no store": ("explain /no/such/store.zarr", 2),
}

with_a_shell = pytest.mark.skipif(SHELL is None, reason="needs a shell")


def run_in_shell(command: str, redirected: str) -> subprocess.CompletedProcess[str]:
    return run(str(SHELL), "-c", f"'{sys.executable}' -m zarr_xgroup {command} {redirected}")


@with_a_shell
@pytest.mark.parametrize(
    ("name", "closed"), some_pairs(COMMANDS, [">&-", "2>&-", "<&- >&- 2>&-"], 2)
)
def test_a_closed_stream_changes_nothing_but_what_is_printed(name: str, closed: str) -> None:
    command, status = COMMANDS[name]
    done = run_in_shell(command, closed)
    assert done.returncode == status
    if closed != "2>&-":
        assert done.stdout == ""
    if "2>&-" in closed:
        assert done.stderr == ""
    assert "Error" not in done.stderr
    assert "Warning" not in done.stderr


@with_a_shell
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_complaints_that_cannot_be_written_change_nothing() -> None:
    for command, status in (COMMANDS["no store"], ("explore a.zarr", 2)):
        assert run_in_shell(command, "2>/dev/full").returncode == status


@with_a_shell
@pytest.mark.parametrize(("command", "status"), COMMANDS.values(), ids=COMMANDS)
def test_nobody_reads_what_is_printed(command: str, status: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [str(SHELL), "-c", f"exec '{sys.executable}' -m zarr_xgroup {command}"],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=300,
    )
    os.close(writing)
    assert done.returncode == (status if status == 2 else 141)
    assert b"Error" not in done.stderr
    assert b"Warning" not in done.stderr
