"""Compile the message catalogues when a package is built or installed, by the hook of Hatch.

Compiled ones are not kept in the repository.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

from update_translations import compiled  # Hatch runs this file from elsewhere


class Catalogues(BuildHookInterface[Any]):
    """Compiles each catalogue beside its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile them, for a wheel, or a clone that is installed in place."""
        build_data["artifacts"] += [f"/{path.relative_to(self.root)}" for path in compiled()]
