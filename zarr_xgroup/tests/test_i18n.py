"""Messages in the user's language: how it is chosen, and what is translated."""

import gettext
import io
import re
import string
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup import (
    XGroupGroupError,
    XGroupNoPrincipalWarning,
    XGroupPathError,
    XGroupWarning,
    i18n,
)
from zarr_xgroup.tests.builders import Array, Group, build, memory_store, recorded
from zarr_xgroup.tests.pages import DOCS
from zarr_xgroup.tests.report.test_check import CASES, broken, files, part

catalogs = pytest.importorskip("babel.messages.catalog")
extract = pytest.importorskip("babel.messages.extract")
mofile = pytest.importorskip("babel.messages.mofile")
pofile = pytest.importorskip("babel.messages.pofile")

PACKAGE = Path(str(zarr_xgroup.__file__)).parent
LOCALE = PACKAGE / "locale"
LANGUAGES = ("fr",)

each_language = pytest.mark.parametrize("language", LANGUAGES)

#: A message id: the text, or singular and plural.
Id = str | tuple[str, str]


@pytest.fixture(autouse=True)
def no_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each test without any language in the environment."""
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)


def extracted() -> set[Id]:
    """Return the ids of all messages of the package, as the command of docs/development.md extracts them."""
    found = extract.extract_from_dir(
        str(PACKAGE), directory_filter=lambda path: Path(path).name != "tests"
    )
    return {message for _file, _line, message, _comments, _context in found}


def without_principal(paths: list[str]) -> XGroupWarning:
    """Return the warning about arrays that declare no principal convention."""
    store = memory_store(build(Group({path[1:]: Array([1.0], ("x",)) for path in paths})))
    _dataset, (warning,) = recorded(xr.open_dataset, store, engine="xgroup")
    assert type(warning) is XGroupNoPrincipalWarning
    return warning


def read_catalogue(path: Path) -> Any:
    with path.open("rb") as file:
        return pofile.read_po(file)


# Which language.

NO_PATH = "{path!r} is not a valid path of a group: '.' and '..' are not allowed"


@pytest.fixture
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use catalogues of two languages made up for the tests."""
    for language in ("de", "pt_BR"):
        made = catalogs.Catalog(locale=language)
        made.add("The store {store} does not exist", f"[{language}] {{store}}")
        made.add(NO_PATH, f"[{language}] {{path}}")
        made.add(
            ("{names} and {count} more", "{names} and {count} more"),
            (f"[{language} one] {{names}} {{count}}", f"[{language} many] {{names}} {{count}}"),
        )
        folder = tmp_path / language / "LC_MESSAGES"
        folder.mkdir(parents=True)
        with (folder / "zarr_xgroup.mo").open("wb") as file:
            mofile.write_mo(file, made)
    monkeypatch.setattr(i18n, "LOCALE_DIR", tmp_path)


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ("", "The store {store} does not exist"),
        ("LANG=de", "[de] {store}"),
        ("LANG=de_DE.UTF-8", "[de] {store}"),
        ("LANG=de_AT@euro", "[de] {store}"),
        ("LANG=pt_BR.UTF-8", "[pt_BR] {store}"),
        ("LANG=pt_PT.UTF-8", "The store {store} does not exist"),
        ("LANG=C.UTF-8", "The store {store} does not exist"),
        ("LC_MESSAGES=de LANG=pt_BR", "[de] {store}"),
        ("LC_ALL=pt_BR LC_MESSAGES=de LANG=de", "[pt_BR] {store}"),
        ("LANGUAGE=de LC_ALL=pt_BR LANG=pt_BR", "[de] {store}"),
        ("LANGUAGE=xx:pt_BR:de", "[pt_BR] {store}"),
        ("LANGUAGE= LANG=de", "[de] {store}"),
        ("LC_ALL=C LANG=de", "The store {store} does not exist"),
    ],
)
def test_the_language_follows_the_current_environment(
    monkeypatch: pytest.MonkeyPatch, environment: str, expected: str
) -> None:
    assert i18n._("The store {store} does not exist") == "The store {store} does not exist"
    for variable in environment.split():
        monkeypatch.setenv(*variable.split("="))
    assert i18n._("The store {store} does not exist") == expected
    assert i18n._("something else") == "something else"
    for number, form in ((1, "one thing"), (2, "{n} things")):
        assert i18n.ngettext("one thing", "{n} things", number) == form


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize(("number", "form"), [(4, "[de one] "), (5, "[de many] ")])
def test_plural_forms(monkeypatch: pytest.MonkeyPatch, number: int, form: str) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    warning = without_principal([f"/a{n}" for n in range(number)])
    assert str(warning).endswith(f": {form}/a0, /a1, /a2 {number - 3}")


@pytest.mark.usefixtures("catalogue")
def test_messages_are_translated_when_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    store: Any = memory_store(build(Group()))
    with pytest.raises(XGroupPathError) as caught:
        xr.open_dataset(store, engine="xgroup", group="a/../b")
    assert str(caught.value) == "[de] a/../b"


# The catalogues of the package.


def placeholders(text: str) -> set[tuple[str, str | None, str | None]]:
    """Return the replacement fields of a format string, with format and conversion."""
    return {
        (field, specification, conversion)
        for _text, field, specification, conversion in string.Formatter().parse(text)
        if field is not None
    }


def as_forms(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


@each_language
def test_translations_have_the_placeholders_of_their_messages(language: str) -> None:
    catalogue = read_catalogue(LOCALE / language / "LC_MESSAGES" / "zarr_xgroup.po")
    assert str(catalogue.locale) == language
    for message in catalogue:
        if not message.id:
            continue
        assert not message.fuzzy, message.id
        forms = as_forms(message.string)
        if not any(forms):
            continue
        assert len(forms) == (1 if isinstance(message.id, str) else catalogue.num_plurals)
        ids = as_forms(message.id)
        singular, plural = placeholders(ids[0]), placeholders(ids[-1])
        assert placeholders(forms[0]) in (singular, plural), message.id
        for form in forms[1:]:
            assert placeholders(form) == plural, message.id


@each_language
def test_compiled_catalogues_are_those_of_their_sources(language: str) -> None:
    folder = LOCALE / language / "LC_MESSAGES"
    compiled = io.BytesIO()
    mofile.write_mo(compiled, read_catalogue(folder / "zarr_xgroup.po"))
    compiled.seek(0)
    expected: Any = gettext.GNUTranslations(compiled)
    with (folder / "zarr_xgroup.mo").open("rb") as file:
        found: Any = gettext.GNUTranslations(file)
    # All but the header, which names Babel's version.
    for catalogue in (expected, found):
        del catalogue._catalog[""]
    assert found._catalog == expected._catalog, "compile it: scripts/update_translations.py"
    assert [found.plural(n) for n in range(200)] == [expected.plural(n) for n in range(200)]


@each_language
def test_warnings_on_opening_use_the_plural_forms_of_the_language(
    monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    def raised() -> str:
        with pytest.raises(XGroupGroupError) as caught:
            recorded(xr.open_dataset, memory_store(build(Group())), engine="xgroup", group="nope")
        return str(caught.value)

    def told() -> list[str]:
        return [str(without_principal(paths)) for paths in (["/a"], ["/a", "/b"])]

    in_english = {*told(), raised()}
    monkeypatch.setenv("LANG", f"{language}_{language.upper()}.UTF-8")
    one, two = told()
    assert not {one, two, raised()} & in_english
    singular, plural = (text.rpartition(": /a")[0] for text in (one, two))
    assert ": 1 " in singular
    assert ": 2 " in plural
    assert singular.replace(": 1 ", ": 2 ") != plural
    assert "nope" in raised()


def warning_headings() -> dict[str, re.Pattern[str]]:
    """Return the words in the first column of the page about warnings, with their patterns: `...` is what a message fills in."""
    page = DOCS / "a-warning.md"
    if not page.is_file():
        pytest.skip("installed without the documentation")
    rows = re.findall(r"^\| (`.+?) \| ", page.read_text(encoding="utf-8"), re.MULTILINE)
    headings = [words for row in rows for words in re.findall(r"`(.+?)`", row)]
    parts = {heading: [part.strip(" '") for part in heading.split("...")] for heading in headings}
    return {
        heading: re.compile(".*".join(map(re.escape, filter(None, texts))))
        for heading, texts in parts.items()
    }


def test_words_of_the_page_about_warnings_are_parts_of_messages() -> None:
    messages = [text for message in extracted() for text in as_forms(message)]
    headings = warning_headings()
    assert headings
    for heading, pattern in headings.items():
        assert any(pattern.search(message) for message in messages), heading


def test_each_warning_has_words_in_the_page_about_warnings() -> None:
    """The warnings are those of the stores that break one rule of `check` each."""
    patterns = warning_headings().values()
    seen = set()
    for _rule, place, edits, _remedy in CASES:
        store = memory_store(files(part(broken(edits), *edits, place)))
        _tree, warned = recorded(xr.open_datatree, store, engine="xgroup")
        for warning in warned:
            seen.add(type(warning))
            text = str(warning)
            assert any(pattern.search(text) for pattern in patterns), text
    assert len(seen) > 3
