"""The time of regular expressions is proportional to the length of a text, not to its square.

The expressions match texts from stores. The tests find each expression of the package, search for its worst
characters with short texts, and measure processor time on long texts of these characters. Quadratic time would be
hundreds of times above the limit.
"""

from __future__ import annotations

import ast
import pkgutil
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import zarr_xgroup

parser: Any = import_module("re._parser")

#: How long the texts are in which the worst letters are searched for, and those of these.
SHORT = 1_000
LONG = (10_000, 100_000)
#: How many of the worst are measured.
WORST = 3
#: Seconds for a letter that are no matter, and how much more ten times as many letters may take.
NO_MATTER = 5e-6
MOST_GROWTH = 40

#: What is in no expression itself.
COMMON = ("a", "0", " ", ".", "\u00e9", "\0")


# Finding them.


@dataclass(frozen=True)
class Use:
    """A use of a regular expression: the method of `re.Pattern` that it is used by."""

    where: str
    pattern: re.Pattern[Any]
    method: str

    def __str__(self) -> str:
        return f"{self.where}.{self.method}"

    def run(self, text: str) -> None:
        """Use it on a text."""
        subject: Any = text if isinstance(self.pattern.pattern, str) else text.encode()
        if self.method == "sub":
            self.pattern.sub(subject[:0], subject)
        elif self.method == "finditer":
            assert all(found.end() >= 0 for found in self.pattern.finditer(subject))
        else:
            getattr(self.pattern, self.method)(subject)


def modules() -> Iterator[ModuleType]:
    """Yield the modules of the package, without its tests."""
    for found in pkgutil.walk_packages(zarr_xgroup.__path__, "zarr_xgroup."):
        if not found.name.startswith(("zarr_xgroup.tests", "zarr_xgroup.__main__")):
            yield import_module(found.name)


def uses_in(module: ModuleType) -> Iterator[Use]:
    """Yield the uses of regular expressions in a module.

    An expression that is handed on may be used by any method: the one that reads most is taken.
    """
    names: dict[str, Any] = vars(module)
    seen: set[ast.AST] = set()
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner, method = node.func.value, node.func.attr
            name = owner.id if isinstance(owner, ast.Name) else ""
            if name == "re" and method not in ("compile", "escape"):
                seen.update(ast.walk(node.args[0]))
                flags = [it.value for it in node.keywords if it.arg == "flags"]
                flags += node.args[2:3] if method in ("search", "match", "fullmatch") else []
                text, *given = (
                    eval(compile(ast.Expression(it), "expression", "eval"), names)
                    for it in (node.args[0], *flags)
                )
                yield Use(f"{module.__name__}:{node.lineno}", re.compile(text, *given), method)
            elif isinstance(pattern := names.get(name), re.Pattern):
                seen.add(owner)
                yield Use(f"{module.__name__}.{name}", pattern, method)
        elif isinstance(node, ast.Name) and node not in seen:
            pattern = names.get(node.id) if isinstance(node.ctx, ast.Load) else None
            if isinstance(pattern, re.Pattern):
                yield Use(f"{module.__name__}.{node.id}", pattern, "finditer")


# The worst letters.


def sample(nodes: Any) -> str:
    """Return a short text that parts of an expression match, without regard to what is around."""
    return "".join(sample_of(code, value) for code, value in nodes)


def sample_of(code: Any, value: Any) -> str:
    if code is parser.LITERAL:
        return chr(value)
    if code is parser.IN:
        pattern = parser.SubPattern(parser.State(), [(parser.IN, list(value))])
        is_in = import_module("re._compiler").compile(pattern).match
        return str(next(filter(is_in, [*COMMON, *map(chr, range(32, 127)), "\n"])))
    if code in (parser.ANY, parser.NOT_LITERAL):
        return "a"
    inner = list(parts_of(code, value))
    if not inner or "ASSERT" in str(code):
        return ""
    return sample(inner[0]) * (max(int(value[0]), 1) if "REPEAT" in str(code) else 1)


def parts_of(code: Any, value: Any) -> Iterator[Any]:
    """Yield what is within a part of an expression."""
    if code is parser.BRANCH:
        yield from value[1]
    elif isinstance(value, parser.SubPattern):  # an atomic group
        yield value
    elif isinstance(value, tuple):
        yield from (it for it in value if isinstance(it, parser.SubPattern))


def beginnings(nodes: Any, before: str = "") -> Iterator[str]:
    """Yield texts that lead to the parts of an expression."""
    for code, value in nodes:
        yield before
        for inner in parts_of(code, value):
            yield from beginnings(inner, before)
        before += sample_of(code, value)
    yield before


def literals(nodes: Any) -> Iterator[str]:
    """Yield the texts that stand in an expression as they are."""
    run = ""
    for code, value in nodes:
        if code is parser.LITERAL:
            run += chr(value)
            continue
        yield run
        run = ""
        if code is parser.IN:
            yield from (chr(it) for kind, it in value if kind is parser.LITERAL)
        for inner in parts_of(code, value):
            yield from literals(inner)
    yield run


def texts_for(pattern: re.Pattern[Any]) -> Iterator[Callable[[int], str]]:
    """Yield how to make texts of a length that may be bad for an expression."""
    nodes = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    runs = {it for it in literals(nodes) if it}
    letters = sorted({it for it in runs if len(it) == 1} | {*COMMON})
    longer = sorted({it for it in runs if len(it) > 1} | {sample(nodes), sample(nodes)[:-1]} - {""})
    words = [*letters, *map("".join, product(letters, repeat=2)), *longer]
    words += [f"{run}{letter}" for run, letter in product(longer, letters)]
    for first, word, last in product(dict.fromkeys(beginnings(nodes)), words, ("", "\0", "a")):
        yield partial(text_of, first, word, last)


def text_of(first: str, word: str, last: str, size: int) -> str:
    return first + word * (size // len(word)) + last


def seconds(use: Use, text: str) -> float:
    """Return how long the processor takes."""
    began = time.thread_time()
    use.run(text)
    return time.thread_time() - began


def worst_for(use: Use) -> list[Callable[[int], str]]:
    """Return how to make the texts that take longest."""
    made = list(texts_for(use.pattern))
    return sorted(made, key=lambda it: -seconds(use, it(SHORT)))[:WORST]


def grows_too_fast(use: Use, sizes: Sequence[int] = LONG) -> str:
    """Return the beginning of a text on which a use takes too long, "" if there is none."""
    for make in worst_for(use):
        before = seconds(use, make(sizes[0] // 10))
        for size in sizes:
            taken, most = seconds(use, make(size)), max(NO_MATTER * size, MOST_GROWTH * before)
            if taken > most:  # a machine that does something else is slow at times, a square always
                taken = min(taken, seconds(use, make(size)))
            if taken > most:
                return f"{make(40)!r}: {taken} s for {size} letters"
            before = taken
    return ""


USES = list(
    {(it.pattern, it.method): it for module in modules() for it in uses_in(module)}.values()
)


@pytest.mark.parametrize("use", USES, ids=str)
def test_time_grows_with_the_length_of_a_text(use: Use) -> None:
    assert grows_too_fast(use) == ""


@pytest.mark.parametrize(
    ("expression", "method", "size"),
    [
        (r"[^/:]+:(?!:).*@", "search", 10_000),  # from each letter on to the end
        (r"\s*(\S+)\s+since\s+(\S.*?)\s*", "fullmatch", 10_000),  # spaces, divided between two
        (r"(?:%3A%2F%2F)(?:[^/\s]*@)", "sub", 100_000),
        (r"[0-9]*[0-9,]*x", "match", 30_000),
    ],
)
def test_quadratic_growth_is_found(expression: str, method: str, size: int) -> None:
    assert grows_too_fast(Use("", re.compile(expression), method), (size // 10, size))


def test_all_expressions_are_found() -> None:
    compiled = {
        it for module in modules() for it in vars(module).values() if isinstance(it, re.Pattern)
    }
    assert len(compiled) > 40
    assert compiled <= {use.pattern for use in USES}
