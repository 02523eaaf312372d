"""Write into the page of the rules of `check` what follows from the code.

People write what a rule is about. A heading for each rule there is, and below it the document that
demands it and what `check` says of a store that breaks this rule only, come from here.
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import zarr_xgroup
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.report.results import Verdict
from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.report.test_check import CASES, broken, checked, places, stale

PAGE = DOCS / "reference" / "rules.md"

_RULE = re.compile(r"### (?P<name>\S+)")
#: What zarr says of a document, each version in its own words.
_OF_ZARR = re.compile(r"(?<=ValueError: ).*quaternion.*")
#: How what follows from the code begins.
_MADE = "From: "


def rendered(text: str, examples: Mapping[str, str]) -> str:
    """Return the page with all that follows from the code made anew.

    Parameters
    ----------
    text : str
        The page.
    examples : mapping
        What `check` says of a store that breaks a rule, by the rule's name.
    """
    heading, *sections = re.split(r"^(?=##)", text, flags=re.MULTILINE)
    known = {rule.name: rule for rule in RULES}
    for name in known:
        if not any(it.startswith(f"### {name} ") for it in sections):
            _put(f"### {name} \n", sections)
    return "".join([heading, *(_section(section, known, examples) for section in sections)])


def _put(section: str, sections: list[str]) -> None:
    """Put the section of a rule after the others of its convention, or after all."""
    of_convention = section.partition("/")[0] + "/"
    places = [index for index, it in enumerate(sections) if it.startswith(of_convention)]
    if not places:
        convention = of_convention.removeprefix("### ").removesuffix("/")
        places = [len(sections)]
        sections.append(f"## {convention}\n\n")
    sections.insert(places[-1] + 1, section)


def _section(text: str, known: dict[str, Rule], examples: Mapping[str, str]) -> str:
    heading, about = text.split("\n", 1)
    match = _RULE.match(heading)
    if match is None:
        return text
    rule = known[match["name"]]
    written = about.partition(_MADE)[0].strip()
    source = f"{_MADE}{rule.document}, *{rule.section}*"
    example = f"```text\n{examples[rule.name]}\n```" if rule.name in examples else ""
    parts = [f"### {rule.name} {{: #{rule.name} }}", written, source, example]
    return "\n\n".join([*filter(None, parts), ""])


def examples_of_rules(folder: Path) -> dict[str, str]:
    """Return what `check` says of the first store that breaks a rule, by the rule's name.

    The stores are written into a folder.
    """
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


def main() -> None:
    """Write the page anew; what a rule is about stays as it is written there."""
    with tempfile.TemporaryDirectory() as folder:
        examples = examples_of_rules(Path(folder))
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), examples), encoding="utf-8")


if __name__ == "__main__":
    main()
