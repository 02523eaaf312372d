"""Answer whether a declared coordinate is one of the group's own arrays, or is replaced by one.

Stored data take precedence over declarations. An array of the group that has the name, dimensions and size of a declared
coordinate is that coordinate, with its own bounds and formula terms. No method changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.names import longer_name
from zarr_xgroup.datasets.plan import Declaration, PlannedVariable, Role
from zarr_xgroup.datasets.times import identity_of
from zarr_xgroup.metadata.cf import BOUNDARIES, names_in, words_of
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import HandlerVariable, Source, Stored, Unusable

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory


#: The bounds and formula terms of a coordinate that are attached, and the parts that are left out.
Companions: TypeAlias = tuple[Coordinate | None, Mapping[str, Coordinate], list[Coordinate]]


class OwnArrays:
    """The arrays of one group, as variables of its Dataset."""

    def __init__(
        self,
        reading: GroupReading,
        variables: Mapping[str, PlannedVariable],
        factory: VariableFactory,
    ) -> None:
        self._reading, self._variables, self._factory = reading, variables, factory
        self._arrays = {array.node.name: array for array in reading.arrays}

    def named(self, name: str) -> PlannedVariable | None:
        """Return the array with a name, None if it does not exist."""
        variable = self._variables.get(name)
        return variable if variable is not None and variable.is_own else None

    def of_source(self, source: Source) -> PlannedVariable | None:
        """Return the array from which a source is read, None if that is not an array of the group."""
        if not isinstance(source, Stored):
            return None
        own = self.named(source.node.name)
        return own if own is not None and own.stored == source.node else None

    def contain(self, coordinate: Coordinate, name: str = "") -> bool:
        """Return whether a coordinate is an array of the group, with a name if that is given."""
        source = coordinate.source
        if not (isinstance(source, Stored) and source.node.group == self._reading.node):
            return False
        return name in ("", source.node.name)

    # Which array a coordinate is.

    def in_place_of(self, declared: Declaration) -> PlannedVariable | None:
        """Return the array that takes the place of a different coordinate, None if none does."""
        name, source, role = declared.coordinate.name, declared.source, declared.role
        own = self.named(name)
        if own is None or (isinstance(source, Unusable) and role == "bounds"):
            return None
        if not isinstance(source, Stored):
            return own if self._can_replace(own, declared) else None
        # Bounds, formula terms and ancillary arrays are always the arrays that attributes name.
        if role in ("bounds", "other") or source.node == own.stored:
            return None
        # If two referenced arrays have this name, `UsedNames.first_free` has given the second one a longer name.
        longer = longer_name(name, source.node.group.path)
        for candidate in (own, self.named(longer if longer != name else f"{name}_1")):
            if candidate is not None and self._can_replace(candidate, declared):
                is_first = candidate.instead_of in (None, source.node)
                if is_first or candidate.is_dimension_coordinate:
                    return candidate
        return None

    def _can_replace(self, own: PlannedVariable, declared: Declaration) -> bool:
        """Return whether an array can replace a declared coordinate with the same name."""
        source = declared.source
        # 1. A dimension coordinate, which is 1-D, replaces every declared one, except an array of a different length.
        if source.dims == (own.name,):
            is_array = isinstance(source, Stored | HandlerVariable)
            is_any = not is_array or self._has_size_of(own, declared)
            return own.is_dimension_coordinate and is_any
        # 2. An array that declares a principal convention itself is data, not a coordinate.
        if self._arrays[own.name].declares_principal:
            return False
        # 3. Other coordinates are replaced by an array with the same dimensions and sizes. For bounds, the dimension of
        #    the vertices may have any name, and may be stored first.
        if declared.role != "bounds":
            return self._has_size_of(own, declared)
        lengths = [*self._factory.sizes(own.source).values()]
        expected = [*self._factory.sizes(source).values()]
        return any(
            lengths[::order] == expected and own.dims[::order][:-1] == source.dims[:-1]
            for order in ((1, -1) if len(lengths) == 2 else (1,))  # vertices last, or first
        )

    def _has_size_of(self, own: PlannedVariable, declared: Declaration) -> bool:
        """Return whether an array has the dimensions and sizes of a declared coordinate.

        If these do not fit the array that declares it, the array needs to fit instead: a subset that was written with its
        coordinates may still refer to the coordinates of the whole array.
        """
        source, referrer = declared.source, declared.referrer
        if self._factory.sizes(own.source) == self._factory.sizes(source):
            return True
        has_any_dims = isinstance(source, Unusable) and source.needed is None
        is_array = isinstance(source, Stored | HandlerVariable)
        may_be_whole = is_array and declared.role == "coordinate"
        if has_any_dims or (may_be_whole and not self._fits(source, referrer)):
            return self._fits(own.source, referrer)
        return False

    def _fits(self, source: Source, referrer: Node) -> bool:
        """Return whether a source can be a coordinate of an array: the array has its dimensions with the same sizes."""
        if isinstance(source, Unusable) or referrer.name not in self._arrays:
            return False
        return self._factory.sizes(source).items() <= self._arrays[referrer.name].sizes.items()

    def same_as(self, declared: Declaration) -> PlannedVariable | None:
        """Return the array to which a coordinate refers, None if it needs a separate variable."""
        coordinate, source = declared.coordinate, declared.source
        own = self.of_source(source)
        if own is None or not isinstance(source, Stored) or source.first:
            return None
        # 1. If two arrays declare different times for the same numbers, these become two variables.
        before = own.declared_decoding
        if "units" in before:
            as_before = identity_of(replace(coordinate, attributes=before), self._factory)
            if declared.identity not in (coordinate.identity, as_before):
                return None
        # 2. A dimension coordinate must have the name of its dimension.
        is_same_name = own.name == coordinate.name
        if coordinate.is_dimension_coordinate and not is_same_name and own.name not in self.data:
            return None
        # 3. Under other dimension names it is still this array: a copy with a number in its name would come back whole after
        #    the data were cut and written again. Bounds, terms, an array with unnamed dimensions, and a coordinate with a name
        #    of its own, which a written variable of this name replaces, are attached along the dimensions of the coordinate.
        is_unnamed = None in self._arrays[own.name].inherited.declared
        is_part = declared.role in ("bounds", "other")
        if is_part or is_unnamed or not is_same_name:
            return own if self._has_dimensions_of(own, source, declared.role) else None
        return own

    def _has_dimensions_of(self, own: PlannedVariable, source: Stored, role: Role) -> bool:
        """Return whether an array has the dimensions that a coordinate read from it has, in the same order.

        For bounds, the dimension of the vertices may have any name; it is stored first if the bounds are transposed.
        """
        own_dims, dims = self._arrays[own.name].dims, source.along
        if role == "bounds" and len(own_dims) == len(dims):
            others = slice(1, None) if source.transposed else slice(-1)
            own_dims, dims = own_dims[others], dims[others]
        is_repeated = len(set(own_dims)) < len(own_dims)
        return own_dims == dims or is_repeated

    # Which bounds and formula terms belong to an array.

    def companions(self, declared: Declaration, variable: PlannedVariable) -> Companions:
        """Return the bounds and formula terms to attach with a coordinate's variable, and those to leave out."""
        bounds, terms = declared.coordinate.bounds, declared.coordinate.formula_terms
        if variable.is_own:
            own = variable.own_attributes
            named = variable.get("bounds") if declared.is_replaced else own.get("bounds")
            if named is not None and bounds and not self.contain(bounds, str(named)):
                bounds = None
            terms = self._terms_that_fit(variable, terms, declared.referrer)
        if declared.is_replaced:
            return self.kept_companions(bounds, terms)
        return bounds, terms, []

    def kept_companions(
        self, bounds: Coordinate | None, terms: Mapping[str, Coordinate]
    ) -> Companions:
        """Return the bounds and formula terms that are arrays of the group, and the others to leave out.

        The others belong to the declared coordinate that an array of the group replaces.
        """
        kept, left_out = {}, []
        for term, part in terms.items():
            array = self.named(part.name)
            if array is not None and {*array.dims} == {*part.source.dims}:
                part = replace(part, source=array.source)
            if self.contain(part):
                kept[term] = part
            else:
                left_out.append(part)
        if bounds is None or self.contain(bounds):
            return bounds, kept, left_out
        return None, kept, [*left_out, bounds]

    def _terms_that_fit(
        self, variable: PlannedVariable, terms: Mapping[str, Coordinate], referrer: Node
    ) -> Mapping[str, Coordinate]:
        """Return formula terms, with the terms of the group's own coordinate in place of those that do not fit.

        Data that were written again contain their terms, but the attributes may still refer to the original ones.
        """
        words = words_of(variable.own_attributes, "formula_terms") if terms else []
        named, own_terms = dict(zip(words[::2], words[1::2], strict=False)), dict(terms)
        for term, part in terms.items():
            own, array = self.named(named.get(f"{term}:", "")), self.of_source(part.source)
            is_copy = isinstance(part.source, Stored) and not (
                array is None or self._has_dimensions_of(array, part.source, "other")
            )
            if own is not None and (is_copy or not self._fits(part.source, referrer)):
                own_terms[term] = replace(part, name=own.name, source=own.source)
        return own_terms

    # Which arrays are data.

    def _declared(self) -> Iterator[Coordinate]:
        """Yield the coordinates that conventions declare, with their bounds and formula terms."""
        for interpretation in dict.fromkeys(it.interpretation for it in self._reading.arrays):
            for coordinate in interpretation.coordinates:
                yield from coordinate.parts()

    @cached_property
    def data(self) -> frozenset[str]:
        """The names of arrays that stay data even if other arrays refer to them.

        They declare a principal convention themselves. If only their groups or the user declare the convention, referenced
        coordinates, bounds and terms are not data.
        """
        declared = set[Node]()
        for part in self._declared():
            if isinstance(part.source, Stored):
                declared.add(part.source.node)
            elif isinstance(part.source, Unusable):
                declared.add(self._reading.node.child(part.name))
        return frozenset(
            array.node.name
            for array in self._reading.arrays
            if array.declares_principal or (array.has_principal and array.node not in declared)
        )

    @cached_property
    def dimensions_of_data(self) -> frozenset[str]:
        """The dimensions of the arrays, except those of the bounds of coordinates."""
        names = set[str]()
        for part in self._declared():
            if part.bounds is not None:
                names.add(part.bounds.name)
                if isinstance(part.bounds.source, Stored):
                    names.add(part.bounds.source.node.name)
        for array in self._reading.arrays:
            for key in BOUNDARIES:
                names.update(names_in(array.document.attributes, key))
        return frozenset(
            dim
            for array in self._reading.arrays
            if array.node.name not in names
            for dim in array.dims
        )
