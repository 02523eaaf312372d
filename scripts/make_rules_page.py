"""Write the generated parts of the page of the rules of `check`.

People write the description of a rule. This script writes a heading for each rule, its document, and the output of
`check` for a store that breaks only this rule.
"""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

import zarr_xgroup
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.report.results import Verdict
from zarr_xgroup.report.rules import RULES
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.report.test_check import CASES, broken, checked, places, stale

PAGE = DOCS / "reference" / "rules.md"

_RULE = re.compile(r"^### (\S+)", re.MULTILINE)
#: The error of zarr for a document, which differs between versions.
_OF_ZARR = re.compile(r"(?<=ValueError: ).*quaternion.*")
#: The start of the generated part of a section, and of the last line below the heading of a chapter.
_MADE = "From: "


def rendered(text: str, examples: Mapping[str, str]) -> str:
    """Return the page with new generated parts.

    Parameters
    ----------
    text : str
        The page.
    examples : mapping
        The output of `check` for a store that breaks a rule, by the rule's name.
    """
    heading, *sections = re.split(r"^(?=##)", text, flags=re.MULTILINE)
    known = {rule.name: rule for rule in RULES}
    for name in known:
        if not any(section.startswith(f"### {name} ") for section in sections):
            _put(f"### {name} \n", sections)
    chapters = re.split(r"^(?=## )", "".join(sections), flags=re.MULTILINE)
    return "".join(
        [heading, *(_chapter(chapter, known, examples) for chapter in chapters if chapter)]
    )


def _put(section: str, sections: list[str]) -> None:
    """Insert the section of a rule after the others of its convention, or at the end."""
    of_convention = section.partition("/")[0] + "/"
    places = [index for index, text in enumerate(sections) if text.startswith(of_convention)]
    if not places:
        convention = of_convention.removeprefix("### ").removesuffix("/")
        places = [len(sections)]
        sections.append(f"## {convention}\n\n")
    sections.insert(places[-1] + 1, section)


def _chapter(text: str, known: dict[str, Rule], examples: Mapping[str, str]) -> str:
    """Return a chapter with new generated parts; if all its rules have the same document, its heading names the document."""
    heading, *sections = re.split(r"^(?=### )", text, flags=re.MULTILINE)
    rules = [known[name] for name in _RULE.findall(text)]
    documents = {rule.document for rule in rules}
    parts = [heading.partition(_MADE)[0].strip()]
    if len(documents) == 1:
        parts.append(f"{_MADE}{rules[0].document}")
    return (
        "\n\n".join(filter(None, parts))
        + "\n\n"
        + "".join(
            _section(section, rule, examples, names_document=len(documents) > 1)
            for section, rule in zip(sections, rules, strict=True)
        )
    )


def _section(text: str, rule: Rule, examples: Mapping[str, str], *, names_document: bool) -> str:
    written = text.partition("\n")[2].partition(_MADE)[0].strip()
    document = f"{rule.document}, " if names_document else ""
    source = f"{_MADE}{document}*{rule.section}*"
    example = f"```text\n{examples[rule.name]}\n```" if rule.name in examples else ""
    parts = [f"### {rule.name} {{:#{rule.name}}}", written, source, example]
    return "\n\n".join([*filter(None, parts), ""])


def examples_of_rules(folder: Path) -> dict[str, str]:
    """Return the output of `check` for the first store that breaks a rule, by the rule's name.

    The stores are written into a folder.
    """
    examples: dict[str, str] = {}
    for number, (name, place, edits, _remedy) in enumerate(CASES):
        if name not in examples:
            verdict = checked(folder / str(number), broken(edits))
            finding = next(
                mistake
                for mistake in verdict.mistakes
                if mistake.rule.name == name
                and (name, place) in places(Verdict("", "/", (mistake,)))
            )
            text = finding.text.replace((folder / str(number)).as_uri(), "file:///data")
            text = _OF_ZARR.sub("...", text)
            examples[name] = _as_text(replace(finding, text=text))
    for finding in zarr_xgroup.check(stale(folder / "stale.zarr", 3)).mistakes:
        examples.setdefault(finding.rule.name, _as_text(finding))
    return examples


def _as_text(finding: Finding) -> str:
    """Return the output of `check` for one mistake, without the rule and its document."""
    return repr(Verdict("", "/", (finding,))).rpartition(f"\n  {finding.rule.name} (")[0]


def main() -> None:
    """Update the page; the descriptions of rules stay unchanged."""
    with tempfile.TemporaryDirectory() as folder:
        examples = examples_of_rules(Path(folder))
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), examples), encoding="utf-8")


if __name__ == "__main__":
    main()
