"""Names for what arrays want and the group does not have itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import msgspec

from zarr_xgroup.datasets.naming.collecting import Wanted
from zarr_xgroup.datasets.naming.taken import Taken
from zarr_xgroup.datasets.naming.uniting import Thing, United
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.findings import Finding, Kind, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node


@dataclass(frozen=True, eq=False)
class Named:
    """A group's variables by name, before anything is said of them; `names` are those of things, by key."""

    names: Mapping[int, str]
    variables: Mapping[str, PlannedVariable]
    findings: tuple[Finding, ...]

    def name_of(self, thing: Thing) -> str:
        """Return the name of a thing, or of what stands in its place."""
        return thing.own or self.names[thing.key]


def give_names(wanted: Wanted, united: United) -> Named:
    """Return the variables of a group by name.

    1. The arrays that are physically in the group keep theirs.
    2. All else is named in the order of reference, see `Taken.first_free`: as it is to be called;
       else that behind the path of its group; else that with a number.
    3. Dimensions that have another size in the group are renamed, the same of one group alike.
    """
    naming = _Naming(wanted, united)
    others = {key: naming.variable(it) for key, it in united.others.items()}
    names = {**united.names, **{key: it.name for key, it in others.items()}}
    variables = {**united.own, **{it.name: it for it in others.values()}}
    return Named(names, variables, tuple(naming.findings))


class _Naming:
    """Names for variables, one after the other."""

    def __init__(self, wanted: Wanted, united: United) -> None:
        self._wanted = wanted
        self._own = united.own
        self._renamed: dict[tuple[Node, str, int], str] = {}
        self.findings: list[Finding] = []

    @cached_property
    def _taken(self) -> Taken:
        sizes = ((name, self._wanted.maker.sizes(it.source)) for name, it in self._own.items())
        return Taken(self._wanted.reading.groups, sizes)

    def variable(self, wanted: PlannedVariable) -> PlannedVariable:
        """Return what needs a name with the best that is free."""
        source, sizes = wanted.source, self._wanted.maker.sizes(wanted.source)
        stored, referrer = wanted.stored, wanted.referrer or self._wanted.reading.node
        origin = (stored or referrer).group
        is_beyond = source.dims == (wanted.name,) and self._wanted.is_unindexed(source)

        def can_be(name: str) -> bool:
            if source.dims == (name,):
                return self._taken.is_free(name) and not is_beyond
            return self._taken.is_free_for_others(name)

        name = self._taken.first_free(wanted.name, origin.path, can_be)
        if name != wanted.name:
            self.findings.append(_renaming(wanted, referrer, name, sizes, is_beyond=is_beyond))
        names = self._fitting_names(name, sizes, origin, referrer)
        dims = tuple(names.get(dim, dim) for dim in source.dims)
        self._taken.add(name, {names.get(dim, dim): it for dim, it in sizes.items()})
        return msgspec.structs.replace(wanted, name=name, dims=dims)

    def _fitting_names(
        self, name: str, sizes: Mapping[str, int], origin: Node, referrer: Node
    ) -> dict[str, str]:
        """Return other names for the dimensions that have another size in the group."""
        names = {}
        for dim, size in sizes.items():
            if self._taken.can_be_dimension(dim, size):
                continue
            key = (origin, dim, size)
            if key not in self._renamed:
                self._renamed[key] = self._taken.take_dimension(f"{dim}_{name}", size)
            names[dim] = self._renamed[key]
        if names:
            changes = ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
            message = _(
                "dimensions of its coordinate {name!r} have another size here, and "
                "were renamed {renamed}"
            )
            text = message.format(name=name, renamed=changes)
            self.findings.append(noted(Kind.DIMENSION, text, referrer))
        return names


def _renaming(
    wanted: PlannedVariable, referrer: Node, name: str, sizes: Mapping[str, int], *, is_beyond: bool
) -> Finding:
    """Return the finding of a coordinate that could not have its name."""
    if is_beyond and wanted.source.dims == (wanted.name,):
        message = _(
            "its coordinate {wanted!r} of length {length} is called {name!r} and "
            "has no index, because the open would have to read too much for one"
        )
    else:
        message = _(
            "its coordinate {wanted!r} is called {name!r}, because {wanted!r} is "
            "something else here or cannot be a name"
        )
    (length, *_others) = (*sizes.values(), 1)
    text = message.format(wanted=wanted.name, name=name, length=length)
    return noted(Kind.NAME, text, referrer)
