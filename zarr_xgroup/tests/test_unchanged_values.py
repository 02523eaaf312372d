"""Values that stay the same: beside arrays of other sizes, and after data were changed, written and opened again."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import Array, Group, build, memory_store, needs_writing, quietly
from zarr_xgroup.tests.sample_stores import SAMPLES
from zarr_xgroup.tests.strategies import thorough
from zarr_xgroup.tests.test_round_trips import (
    OPERATIONS,
    InapplicableError,
    again,
    faults,
    whole,
)

#: The number of examples; many more were tried once.
EXAMPLES = 40


def with_array(root: Group, group: str, name: str, array: Array) -> Group:
    """Return nodes with one more array in a group, which is added if it does not exist."""
    first, _slash, rest = group.partition("/")
    if not first:
        return Group({**root.members, name: array}, root.attrs)
    child = root.members.get(first, Group())
    assert isinstance(child, Group)
    return Group({**root.members, first: with_array(child, rest, name, array)}, root.attrs)


def values_by_position(dataset: xr.Dataset, name: str) -> Iterator[tuple[Any, ...]]:
    """Yield the coordinates of an array: the positions of their dimensions in it, their values, and their bounds."""
    dims = list(dataset[name].dims)
    for coordinate in dataset[name].coords.values():
        positions = [dims.index(dim) for dim in coordinate.dims]
        key = coordinate.attrs.get("bounds", coordinate.encoding.get("bounds"))
        bounds = None if key not in dataset.variables else dataset[key].values.tolist()
        yield positions, coordinate.values.tolist(), bounds


@thorough(EXAMPLES)
@given(
    kind=st.sampled_from(list(SAMPLES)),
    place=st.sampled_from(["neighbour", "parent", "child"]),
    name=st.sampled_from(["AA", "h", "zz"]),
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    is_last=st.booleans(),
    function=st.sampled_from([xr.open_dataset, xr.open_datatree]),
)
def test_an_array_of_other_sizes_changes_no_values_of_others(
    kind: str, place: str, name: str, sizes: list[int], is_last: bool, function: Any
) -> None:
    sample = SAMPLES[kind]
    group = {"neighbour": sample.group, "parent": "", "child": f"{sample.group}/child"}[place]
    assume(place != "parent" or sample.group)

    def opened(root: Group) -> xr.Dataset:
        store: Any = memory_store(build(root))
        options = sample.options if function is xr.open_dataset else sample.assuming
        result = quietly(function, store, engine="xgroup", consolidated=False, **options)
        if function is xr.open_datatree:
            result = result[f"/{sample.group}"].to_dataset()
        dataset: xr.Dataset = result
        return dataset

    before = opened(sample.make())
    declared = [str(dim) for dim in before["v"].dims]
    dims = (declared[::-1] if is_last else declared)[: len(sizes)]
    more = Array(np.zeros(sizes[: len(dims)]), tuple(dims))
    after = opened(with_array(sample.make(), group.strip("/"), name, more))
    for data in before.data_vars:
        # The other array may follow the conventions of the group, and have a grid mapping, which is a scalar.
        expected, found = (
            Counter(map(repr, values_by_position(dataset, str(data))))
            for dataset in (before, after)
        )
        assert expected - found == Counter()
        np.testing.assert_array_equal(after[data].values, before[data].values)


CHANGES = ["isel", "isel of a list", "reversed", "strides", "sortby", "coarsen", "interp"]


@needs_writing
@thorough(EXAMPLES)
@given(
    kind=st.sampled_from(list(SAMPLES)),
    changes=st.lists(st.sampled_from(CHANGES), min_size=1, max_size=3),
    written_as=st.sampled_from(["v3", "v2"]),
)
def test_coordinates_that_come_back_are_those_that_were_written(
    kind: str, changes: list[str], written_as: str
) -> None:
    assume(kind != "dggs" or not {"coarsen", "interp"} & {*changes})  # the mean of ids is not an id
    with xr.set_options(keep_attrs=True):  # type: ignore[no-untyped-call]
        origin = before = whole(kind, written_as)
        for change in changes:
            try:
                before = quietly(OPERATIONS[change], before)
            except (InapplicableError, IndexError, ValueError):  # too small for it
                assume(False)
        assume(all(before.sizes.values()))
        after, told = again(before, kind, written_as, Path())
    assert list(faults(origin, before, after, told)) == []
