"""Update the message catalogues: extract the messages, merge and compile them.

``python scripts/update_translations.py`` updates all catalogues, and starts new ones for the languages given
as arguments (``de``, ``pt_BR``). New messages stay English until they are translated in the ``.po`` files
and the script runs again. It needs Babel, which is part of the extra ``test``.
"""

import argparse
from pathlib import Path
from tempfile import NamedTemporaryFile

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

PACKAGE = Path(__file__).resolve().parents[1] / "zarr_xgroup"
LOCALE = PACKAGE / "locale"
DOMAIN = "zarr_xgroup"


def messages_of_package() -> Catalog:
    """Return the messages of the package, untranslated."""
    catalogue = Catalog(project=DOMAIN)
    messages = extract_from_dir(PACKAGE, directory_filter=lambda path: Path(path).name != "tests")
    for _file, _line, message, _comments, _context in messages:
        catalogue.add(message)
    return catalogue


def update(language: Path, messages: Catalog) -> tuple[int, int]:
    """Merge messages into the catalogue of a language. Start the catalogue if there is none.

    Returns
    -------
    tuple of int
        The number of translated messages, and of all messages.
    """
    path = language / "LC_MESSAGES" / f"{DOMAIN}.po"
    catalogue = Catalog(locale=language.name, project=DOMAIN)
    if path.is_file():
        with path.open("rb") as file:
            catalogue = read_po(file, locale=language.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    catalogue.update(messages, no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    with path.open("wb") as file:
        write_po(file, catalogue, no_location=True, omit_header=False, width=100)
    items = [message for message in catalogue if message.id]
    return sum(all(_texts(message.string)) for message in items), len(items)


def compiled() -> list[Path]:
    """Compile all catalogues and return the files. Each file is replaced atomically."""
    files = []
    for path in sorted(LOCALE.glob(f"*/LC_MESSAGES/{DOMAIN}.po")):
        with path.open("rb") as file:
            catalogue = read_po(file, locale=path.parts[-3])
        files.append(path.with_suffix(".mo"))
        with NamedTemporaryFile(dir=path.parent, delete=False) as temporary:
            write_mo(temporary, catalogue)
        Path(temporary.name).chmod(0o644)
        Path(temporary.name).replace(files[-1])
    return files


def _texts(string: object) -> tuple[str, ...]:
    return string if isinstance(string, tuple) else (str(string or ""),)


def main() -> None:
    """Update all catalogues, and print how many messages are translated."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("languages", nargs="*", help="languages whose catalogues to start")
    started = [LOCALE / name for name in parser.parse_args().languages]
    messages = messages_of_package()
    for language in sorted({*(path for path in LOCALE.iterdir() if path.is_dir()), *started}):
        translated, number = update(language, messages)
        print(f"{language.name}: {translated} of {number} messages translated")
    compiled()


if __name__ == "__main__":
    main()
