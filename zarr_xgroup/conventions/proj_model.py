"""The members ``proj:*`` that say a CRS: of attributes, and of the proj objects of other conventions.

Source: proj convention (zarr-conventions/proj).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.crs import (
    CODE,
    CRS_KEYS,
    EPSG,
    PROJJSON,
    WKT,
    Crs,
    crs_in,
)
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    Kind,
    Member,
    Model,
    Reader,
    fields_of,
    got,
    shown,
    such_as,
    write,
)
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.findings import Finding, Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import is_reference

DOCUMENT = "proj convention (zarr-conventions/proj)"

OF_CODE = Rule("proj/code", DOCUMENT, CODE)
OF_WKT = Rule("proj/wkt2", DOCUMENT, WKT)
OF_PROJJSON = Rule("proj/projjson", DOCUMENT, PROJJSON)
UNDERSTOOD = Rule("proj/understood", DOCUMENT, "Field details")
AGREEING = Rule("proj/one-crs", DOCUMENT, "Field details")
OBJECT_OF_PROJ = Rule("proj/object", DOCUMENT, "Field details")
OF_EPSG = Rule("proj/epsg", DOCUMENT, CODE)

RULES = rules_in(vars())

#: An authority and a code.
_CODE_OF_AUTHORITY = re.compile(r"[^:]+:[^:]+")
#: How WKT of the first version begins (OGC 01-009); the second has other keywords (OGC 18-010).
_WKT1 = re.compile(r"\s*(PROJCS|GEOGCS|GEOCCS|VERT_CS|COMPD_CS|LOCAL_CS)\s*[\[(]", re.IGNORECASE)

_EXAMPLE = f'{{"{CODE}": "EPSG:4326"}}'


def code_of(value: object) -> str:
    """Return the code that a number or a text stands for, "" if it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"EPSG:{value}"
    elif isinstance(value, str) and value.strip().isdigit():
        value = f"EPSG:{value.strip()}"
    is_one = _is_code(value) and Crs(CODE, str(value)).is_understood
    return str(value) if is_one else ""


def _is_code(value: object) -> bool:
    return isinstance(value, str) and _CODE_OF_AUTHORITY.fullmatch(value) is not None


def _write_code(value: object) -> str:
    if _is_code(value):
        return _("write a code of the authority as PROJ lists it (`projinfo --list-crs`)")
    return write(CODE, code_of(value) or "<authority>:<code>")


def _write_wkt(value: object) -> str:
    remedy = _("write WKT 2 (OGC 18-010), as `pyproj.CRS(...).to_wkt()` gives it")
    code = Crs(WKT, value).code if isinstance(value, str) else None
    if code is None or not Crs(CODE, code).is_same(Crs(WKT, str(value))):
        return remedy
    return _("{remedy}, or {other} in its place").format(remedy=remedy, other=write(CODE, code))


@dataclass(frozen=True, eq=False)
class _System(Kind):
    """What says a CRS in one way."""

    expected: Callable[[], str]
    is_right: Callable[[object], bool]
    remedy: Callable[[object], str]

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the CRS."""
        crs = next(crs_in({member.key: value.value}, (member.key,)), None)
        is_understood = crs is not None and crs.is_understood
        if not self.is_right(value.value):
            reader.report(
                member,
                value,
                got(self.expected(), value.value),
                self.remedy(value.value),
                severity="warning" if is_understood else "error",
                value_kept=crs is None or is_understood,
            )
        elif crs is not None:
            _judge(crs, value, self.remedy(value.value) if not is_understood else "", reader)
        return crs if is_understood else UNUSABLE


def _judge(crs: Crs, value: Fragment, remedy: str, reader: Reader) -> None:
    """Take down that PROJ does not understand a CRS."""
    if not crs.is_understood:
        reason = _("is no CRS that pyproj understands: {text}").format(text=shown(value.value))
        reader.report(UNDERSTOOD, value, reason, remedy)


def _compare(place: Fragment, found: list[Crs], reader: Reader) -> None:
    """Take down CRSs that are others than the first, which counts."""
    for other in found[1:]:
        if found[0].differs(other):
            text = _("is another CRS than {key}, which counts").format(key=found[0].key)
            remedy = _("leave one of {keys} out").format(keys=f"{found[0].key}, {other.key}")
            where = Fragment(place.node, (*place.keys, other.key), None)
            reader.report(AGREEING, where, text, remedy, value_kept=True)


_PROJJSON = _System(
    lambda: _("an object of PROJJSON"),
    lambda it: isinstance(it, OBJECT),
    lambda _value: _("write PROJJSON, as `pyproj.CRS(...).to_json_dict()` gives it"),
)
_WKT2 = _System(
    lambda: _("WKT 2"),
    lambda it: isinstance(it, str) and bool(it.strip()) and _WKT1.match(it) is None,
    _write_wkt,
)
_CODE = _System(
    lambda: _("an authority and a code, such as 'EPSG:32633'"),
    _is_code,
    _write_code,
)
_EPSG = _System(str, lambda _value: True, _write_code)


class ProjMembers(Model, frozen=True, kw_only=True):
    """The members of an object by which it says a CRS, as far as PROJ understands them.

    Attributes
    ----------
    projjson, wkt2, code, epsg : Crs or None
        The CRS, the most explicit way first. The last one is that of STAC.
    """

    form: ClassVar[Rule] = OBJECT_OF_PROJ
    others: ClassVar[frozenset[str]] = frozenset({"name", "type", "description"})

    projjson: Annotated[Crs | None, _PROJJSON, Member(key=PROJJSON, rule=OF_PROJJSON)] = None
    wkt2: Annotated[Crs | None, _WKT2, Member(key=WKT, rule=OF_WKT, called=("wkt", "wkt2"))] = None
    code: Annotated[Crs | None, _CODE, Member(key=CODE, rule=OF_CODE, called=("code",))] = None
    epsg: Annotated[Crs | None, _EPSG, Member(key=EPSG, rule=OF_EPSG, called=("epsg",))] = None

    @classmethod
    def read(cls, fragment: Fragment) -> Self:
        """Read an object, of which other members are passed over."""
        members = {key: fragment.value[key] for key in CRS_KEYS if key in fragment.value}
        return super().read(Fragment(fragment.node, fragment.keys, members))

    @classmethod
    def look_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Take down CRSs that differ, and the code of STAC where it stands alone."""
        _compare(
            fragment,
            [found[it] for it in ("projjson", "wkt2", "code", "epsg") if it in found],
            reader,
        )
        if [key for key in fragment.value if fragment.get(key)] == [EPSG]:
            place = Fragment(fragment.node, (*fragment.keys, EPSG), None)
            text = _("{key!r} is not known in the convention").format(key=EPSG)
            remedy = write(CODE, code_of(fragment.value[EPSG]) or "EPSG:<code>")
            reader.report(OF_EPSG, place, text, remedy, severity="warning", value_kept=True)

    @property
    def systems(self) -> list[Crs]:
        """The CRSs, the one that counts first."""
        return [it for it in (self.projjson, self.wkt2, self.code, self.epsg) if it is not None]


def crs_at(array: ArrayView, place: Fragment, keys: Iterable[str] = CRS_KEYS) -> Crs | None:
    """Return the CRS that an object gives under keys, by default those of `proj`, or None.

    What contradicts itself is told; what pyproj does not understand is told and passed over.
    """
    if not isinstance(place.value, OBJECT) or not any(map(place.value.__contains__, keys)):
        return None
    found, wrong = _read(place, keys)
    for it in wrong:
        if it.rule is AGREEING:
            told = replace(it.at(place.node), topic=Topic.CHOICE)
            array.findings.append(replace(told, arrays=(str(array.node),)))
        else:
            array.report_wrong(
                place.node, [it], _("the CRS of {key!r}").format(key=it.place.keys[-1])
            )
    return found[0] if found else None


def _read(place: Fragment, keys: Iterable[str]) -> tuple[list[Crs], Iterable[Finding]]:
    """Return the CRSs that are understood, the one that counts first, and what is wrong."""
    if keys is CRS_KEYS:
        members = ProjMembers.read(place)
        return members.systems, members.wrong
    reader, found = Reader(UNDERSTOOD, UNDERSTOOD), list(crs_in(place.value, keys))
    for crs in found:
        _judge(crs, place.required(crs.key), "", reader)
    understood = [crs for crs in found if crs.is_understood]
    _compare(place, understood, reader)
    return understood, reader.wrong


@dataclass(frozen=True)
class ProjObject(Kind):
    """A proj object, or a reference to one; it stays a `Part`."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the object with the way to it."""
        if is_reference(value.value):
            return value.part
        if not isinstance(value.value, OBJECT):
            code = code_of(value.value)
            example = f'{{"{CODE}": "{code}"}}' if code else _EXAMPLE
            expected = _("a proj object such as {example}").format(example=_EXAMPLE)
            remedy = _("write {example}").format(example=example)
            reader.report(OBJECT_OF_PROJ, value, got(expected, value.value), remedy)
            return UNUSABLE
        spelt = ProjMembers.misspelt(value.value)
        for key, meant in spelt.items():
            reader.misspelt(Fragment(value.node, (*value.keys, key), None), meant)
        if not spelt and not any(key in value.value for key in CRS_KEYS):
            text = _("has none of {keys}").format(keys=", ".join(CRS_KEYS[:3]))
            reader.report(OBJECT_OF_PROJ, value, text, such_as(_EXAMPLE), value_kept=True)
        # Who interprets it tells of CRSs that cannot be used.
        reader.wrong += [replace(it, topic=None) for it in ProjMembers.read(value).wrong]
        return value.part


#: What only the projection extension of STAC writes: beside these, ``proj:*`` is not the convention.
OF_STAC = (EPSG, *(f"proj:{key}" for key in ("transform", "shape", "bbox", "centroid")))

#: The attributes of arrays and groups.
ATTRIBUTES = tuple(
    Attribute(it.key, kind, it.rule or OBJECT_OF_PROJ, "", unless=OF_STAC, whole=ProjMembers)
    for kind, it in fields_of(ProjMembers).values()
    if it.key != EPSG
)
