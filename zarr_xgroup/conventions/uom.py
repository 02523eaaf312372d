"""The `uom` service convention: units of measure by their UCUM code."""

from __future__ import annotations

from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, kind_of


class UomHandler(ConventionHandler):
    """Gives an array the ``units`` of its ``uom``, which passes through as it is."""

    tier = "service"
    name = "uom"
    uuid: ClassVar[str | None] = "3bbe438d-df37-49fe-8e2b-739296d46dfb"
    repositories = ("clbarnes/zarr-convention-uom",)
    reads = ("uom",)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return ``units`` for the array."""
        uom = array.attribute("uom")
        units = None if uom is None else array.attempt(unit_of, uom, lost=_lost)
        return array.found(attributes={} if units is None else {"units": units})


def _lost() -> str:
    return _("the attribute 'units'")


def unit_of(fragment: Fragment) -> str:
    """Return a unit that is written as a string, or as a uom object.

    Parameters
    ----------
    fragment : Fragment
        ``"kg"``, ``{"ucum": {"unit": "kg"}}``, or the latter in ``{"uom": ...}``.

    Raises
    ------
    XGroupMetadataError
        If it is neither.
    """
    if isinstance(fragment.value, str):
        return fragment.value
    if not isinstance(fragment.value, dict):
        raise fragment.error(
            _("must be a string or an object, got {kind}").format(kind=kind_of(fragment.value))
        )
    uom = fragment.get("uom") or fragment
    ucum = uom.get("ucum")
    if ucum is None:
        raise uom.error(_("is no unit of measure: it has no 'ucum'"))
    ucum.as_object()
    unit = ucum.get("unit")
    if unit is None:
        raise ucum.error(_("has no 'unit'"))
    return unit.as_text()
