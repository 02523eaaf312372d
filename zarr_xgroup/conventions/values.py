"""Numbers in JSON: what can be one."""

import math
from typing import Any


def is_finite(value: Any) -> bool:
    """Tell whether a JSON value is a number that is neither infinite nor NaN.

    JSON's integers have no limit: one of any size is finite.
    """
    if isinstance(value, bool):
        return False
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
