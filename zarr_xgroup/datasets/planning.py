"""A store read, interpreted and planned: all that an open and an explanation have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from zarr_xgroup.conventions import handlers
from zarr_xgroup.conventions.lending import Lender
from zarr_xgroup.conventions.registry import named_conventions
from zarr_xgroup.datasets.attributes import convention_attrs_of
from zarr_xgroup.datasets.budget import NO_LIMIT, IndexBudget
from zarr_xgroup.datasets.interpretation import GroupReading, Interpreter
from zarr_xgroup.datasets.moving import plan_groups
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.times import with_times
from zarr_xgroup.errors import XGroupError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.options import DecodingOptions, OpenOptions, StoreOptions
from zarr_xgroup.redaction import redact_causes
from zarr_xgroup.storage.drop_in import without_engine_zarr
from zarr_xgroup.storage.library import Library

T = TypeVar("T", StoreOptions, DecodingOptions)


class Planning:
    """An open up to the plans of groups: read, interpret, plan.

    Parameters
    ----------
    library : Library
        The store.
    group : str
        The group asked for.
    options : OpenOptions
        The options.

    Attributes
    ----------
    maker : Lender
        Makes the variables.
    decoding : DecodingOptions
        The options for xarray's decoding.
    dropped : frozenset of str
        The names of variables that are not wanted.
    assumed : frozenset of str
        The names of conventions that count as declared by every array.
    convention_attrs : {"keep", "drop", "json"}
        What becomes of the attributes of conventions.
    """

    def __init__(self, library: Library, group: str, options: OpenOptions) -> None:
        self.library = library
        self.group = group
        self.decoding = _part(DecodingOptions, options)
        self.dropped = frozenset(_names(options.get("drop_variables")))
        self.assumed = named_conventions(options.get("assume_conventions"))
        self.convention_attrs = convention_attrs_of(options.get("convention_attrs"))
        masks = options.get("use_zarr_fill_value_as_mask")
        self.maker = Lender(library.snapshots, library.zarr_store, fill_value_masks=masks)

    def plan_group(self, *, with_indexes: bool) -> list[GroupPlan]:
        """Return the plan of the group asked for; `with_indexes` if xarray will build some."""
        self.library.read_group(self.group)
        return self._plans(self._interpreted([self.group]), with_indexes=with_indexes)

    def plan_tree(self, *, with_indexes: bool) -> list[GroupPlan]:
        """Return the plans of the group asked for and of all below it, parents first."""
        self.library.read_tree(self.group)
        paths = self.library.snapshots[0].subtree(self.group)
        return self._plans(with_times(self._interpreted(paths)), with_indexes=with_indexes)

    def _plans(self, readings: list[GroupReading], *, with_indexes: bool) -> list[GroupPlan]:
        budget = IndexBudget.of(readings, self.maker) if with_indexes else NO_LIMIT
        return plan_groups(readings, self.maker, budget)

    def _interpreted(self, paths: Iterable[str]) -> list[GroupReading]:
        """Return what is known of groups, after reading all that it depends on."""
        groups = [Node(0, path) for path in paths]
        interpreter = Interpreter(
            self.library.snapshots, self.maker, handlers(), self.dropped, self.assumed
        )
        readings, needs = interpreter.interpret(groups)
        while needs:
            self.library.read(needs)
            readings, needs = interpreter.interpret(groups)
        return readings


@contextmanager
def planning(store_like: Any, options: OpenOptions) -> Iterator[Planning]:
    """Open a store; close it if anything is raised.

    Raises
    ------
    TypeError
        If there is no such option.
    ValueError
        If `assume_conventions` names a convention that there is not, or `convention_attrs` is none
        of its values.
    XGroupError
        If the store cannot be opened, see `Library.open`.
    """
    settled = cast(OpenOptions, without_engine_zarr(options))
    if unknown := sorted(set(settled) - set(OpenOptions.__annotations__)):
        message = _("engine 'xgroup' has no option {names}; it has {options}").format(
            names=", ".join(unknown), options=", ".join(sorted(OpenOptions.__annotations__))
        )
        raise TypeError(message)
    named_conventions(options.get("assume_conventions"))  # before anything is read
    convention_attrs_of(options.get("convention_attrs"))
    try:
        library, group = Library.open(store_like, _part(StoreOptions, settled))
        try:
            yield Planning(library, group, settled)
        except BaseException:
            library.close()
            raise
        finally:
            library.release()
    except XGroupError as error:
        redact_causes(error)
        raise


def _part(kind: type[T], options: OpenOptions) -> T:
    part: Any = {key: value for key, value in options.items() if key in kind.__annotations__}
    return kind(**part)


def _names(drop_variables: str | Iterable[str] | None) -> set[str]:
    if isinstance(drop_variables, str):
        return {drop_variables}
    return set(drop_variables or ())
