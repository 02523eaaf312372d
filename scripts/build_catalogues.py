"""Hatch build hook that compiles the message catalogues when the package is built or installed.

The compiled catalogues are not in the repository.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from update_translations import compiled  # Hatch runs this file from elsewhere


class Catalogues(BuildHookInterface[Any]):
    """Compiles each catalogue into the folder of its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the catalogues for a wheel or an editable install."""
        build_data["artifacts"] += [f"/{path.relative_to(self.root)}" for path in compiled()]
