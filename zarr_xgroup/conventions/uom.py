"""The `uom` service convention: the unit of an array, by its code in UCUM.

What a uom object is, and which ``units`` it gives, is in `units`: an axis of `cs` may have one, too.

Source: uom convention (clbarnes/zarr-convention-uom).
"""

from __future__ import annotations

from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.units import (
    UCUM,
    UNIT,
    UOM,
    UOM_DOCUMENT,
    UnitOfMeasure,
    Uom,
    cf_units_of_measure,
)
from zarr_xgroup.errors import Rule
from zarr_xgroup.i18n import _

OF_ARRAY = Rule("uom/of-arrays", UOM_DOCUMENT, "Applicability")

#: The attribute of an array.
ATTRIBUTE = Attribute(
    "uom",
    UnitOfMeasure(),
    UOM,
    '"uom": {"ucum": {"unit": "m"}}',
    on="array",
    misplaced=OF_ARRAY,
    marks=("ucum",),
)


class UomHandler(ConventionHandler):
    """Gives an array the CF ``units`` that follow from its ``uom``; the attribute ``uom`` itself is kept."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "3bbe438d-df37-49fe-8e2b-739296d46dfb"
    repositories = ("clbarnes/zarr-convention-uom",)
    implies = ("proj",)
    described = (ATTRIBUTE,)
    rules = (UOM, UCUM, UNIT, OF_ARRAY)
    reads = ("standard_name",)

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return None: no coordinates follow from ``uom``."""
        return None

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return CF ``units`` for the array; none if its ``uom`` is missing or cannot be used."""
        unit = array.read(ATTRIBUTE, cost=_("the attribute 'units'"))
        if isinstance(unit, Uom):
            array.report_wrong(array.node, unit.all_wrong(), _("the attribute 'units'"))
        standard_name = array.attributes.get("standard_name")
        return array.interpretation(attributes=cf_units_of_measure(unit, standard_name))
