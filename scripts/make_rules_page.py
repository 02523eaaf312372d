"""Write into the page of the rules of `check` what follows from the code: documents and examples."""

import tempfile
from pathlib import Path

from zarr_xgroup.tests.report.rules_page import PAGE, examples_of_rules, rendered


def main() -> None:
    """Write the page anew; what a rule is about stays as it is written there."""
    with tempfile.TemporaryDirectory() as folder:
        examples = examples_of_rules(Path(folder))
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), examples), encoding="utf-8")


if __name__ == "__main__":
    main()
