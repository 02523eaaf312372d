"""The page of the rules of `check`: what people write of each rule, and what follows from the code.

People write the headings and what a rule is about. Below that comes, as `rendered` makes it, the
document that demands it, and what `check` says of a store that breaks this rule only.
"""

import re
from dataclasses import replace
from pathlib import Path

import zarr_xgroup
from zarr_xgroup.findings import Finding
from zarr_xgroup.report.checking import Verdict
from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.report.test_check import CASES, broken, checked, places, stale

PAGE = DOCS / "reference" / "rules.md"

_RULE = re.compile(r"### (?P<name>\S+)")
#: What zarr says of a document, each version in its own words.
_OF_ZARR = re.compile(r"(?<=ValueError: ).*quaternion.*")
#: How what follows from the code begins.
_MADE = "From: "


def rendered(text: str, folder: Path) -> str:
    """Return the page with all that follows from the code made anew.

    Parameters
    ----------
    text : str
        The page.
    folder : Path
        Where the stores of its examples are written.
    """
    examples = examples_of_rules(folder)
    heading, *sections = re.split(r"^(?=##)", text, flags=re.MULTILINE)
    return "".join([heading, *(_section(section, examples) for section in sections)])


def _section(text: str, examples: dict[str, str]) -> str:
    heading, about = text.split("\n", 1)
    match = _RULE.match(heading)
    if match is None:
        return text
    name = match["name"]
    written = about.partition(f"\n{_MADE}")[0].strip()
    (rule,) = (rule for rule in RULES if rule.name == name)
    source = f"{_MADE}{rule.document}, *{rule.section}*"
    example = f"```text\n{examples[name]}\n```"
    return "\n\n".join([f"### {name} {{: #{name} }}", written, source, example, ""])


def examples_of_rules(folder: Path) -> dict[str, str]:
    """Return what `check` says of the first store that breaks a rule, by the rule's name."""
    found: dict[str, str] = {}
    for number, (name, place, edits, _remedy) in enumerate(CASES):
        if name not in found:
            verdict = checked(folder / str(number), broken(edits))
            told = next(
                it
                for it in verdict.mistakes
                if it.rule.name == name and (name, place) in places(Verdict("", "/", (it,)))
            )
            text = told.text.replace((folder / str(number)).as_uri(), "file:///data")
            text = _OF_ZARR.sub("...", text)
            found[name] = _as_text(replace(told, text=text))
    for told in zarr_xgroup.check(stale(folder / "stale.zarr", 3)).mistakes:
        found.setdefault(told.rule.name, _as_text(told))
    return found


def _as_text(told: Finding) -> str:
    """Return what `check` prints of one mistake, but for the rule and its document."""
    return repr(Verdict("", "/", (told,))).rpartition(f"\n  {told.rule.name} (")[0]
