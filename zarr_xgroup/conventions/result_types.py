"""The types of the values that handlers of plug-ins return, checked before anything uses these values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from itertools import repeat
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np
import xarray as xr

from zarr_xgroup.i18n import _
from zarr_xgroup.variables import sources

#: The classes that are accepted for annotations of numbers, so that those of numpy are.
_NUMBERS: Mapping[Any, Any] = {float: Real, int: Integral, bool: (bool, np.bool_)}

#: The annotations of the fields of a record, by name.
fields_of = lru_cache(maxsize=None)(get_type_hints)


def require(value: Any, kind: Any, name: str) -> None:
    """Raise TypeError or ValueError if a value is not what an annotation describes, with all values in it.

    Parameters
    ----------
    value : object
        The value. The fields of this package's records are checked, too.
    kind : type
        The annotation: a class, a union, or a tuple, set or mapping of classes. The values of a ``Mapping[str, Any]`` must
        be JSON, or numbers and arrays of numpy.
    name : str
        The name of the value in the message.
    """
    of, arguments = get_origin(kind) or kind, get_args(kind)
    if of in (Union, UnionType):
        fitting = [choice for choice in arguments if isinstance(value, _classes_of(choice))]
        if not fitting:
            names = (choice.__name__.replace("NoneType", "None") for choice in arguments)
            raise _wrong_type(value, " | ".join(names), name)
        require(value, fitting[0], name)
        return
    if of is Literal:
        if value not in arguments:
            raise _wrong_type(value, " | ".join(map(repr, arguments)), name)
        return
    if of is not Any and not isinstance(value, _classes_of(kind)):
        raise _wrong_type(value, of.__name__, name)
    for part, annotation, path in _parts_of(value, of, arguments, name):
        require(part, annotation, path)
    if isinstance(value, sources.Source):
        _require_values(value, name)


def _parts_of(
    value: Any, of: Any, arguments: tuple[Any, ...], name: str
) -> Iterator[tuple[Any, Any, str]]:
    """Yield the values in a value of an annotated type, each with its annotation and name."""
    if of in (tuple, frozenset):
        annotations = (
            arguments if of is tuple and ... not in arguments else repeat(arguments[0], len(value))
        )
        for number, (part, annotation) in enumerate(zip(value, annotations, strict=True)):
            yield part, annotation, f"{name}[{number}]"
    elif of is Mapping:
        for key, part in value.items():
            path = f"{name}[{key!r}]"
            yield key, arguments[0], f"a key of {name}"
            yield part, arguments[1], path
            if arguments[1] is Any:
                json.dumps(part, default=partial(_plain, name=path))
    elif isinstance(value, msgspec.Struct) and type(value).__module__.startswith("zarr_xgroup."):
        for field, annotation in fields_of(type(value)).items():
            yield getattr(value, field), annotation, f"{name}.{field}"


def _classes_of(kind: Any) -> Any:
    """Return the class, or classes, for `isinstance` with an annotation."""
    return _NUMBERS.get(kind, get_origin(kind) or kind)


def _wrong_type(value: object, expected: str, name: str) -> TypeError:
    message = _("{name} must be {expected}, got {kind}")
    return TypeError(message.format(name=name, expected=expected, kind=type(value).__name__))


def _plain(value: object, name: str) -> Any:
    """Return numpy's numbers and arrays as those of JSON; raise TypeError for any other object."""
    if not isinstance(value, np.ndarray | np.generic):
        raise _wrong_type(value, "JSON", name)
    return value.tolist()


def _require_values(source: sources.Source, name: str) -> None:
    """Raise an exception if the fields of a source do not fit together, or its function cannot compute one value."""
    hash(source)
    if isinstance(source, sources.HandlerVariable):
        variable = source.variable
        require(variable, xr.Variable, f"{name}.variable")
        require(variable.dims, tuple[str, ...], f"{name}.variable.dims")
        require(variable.attrs, Mapping[str, Any], f"{name}.variable.attrs")
        return
    if isinstance(source, sources.Literal):
        shape, dims = source.values.shape, source.dims
    elif isinstance(source, sources.Computed):
        shape, dims = source.shape, source.along
    else:
        return
    if len(shape) != len(dims) or min(shape, default=0) < 0:
        message = _("{name} has the shape {shape} and the dimensions {dims}")
        raise ValueError(message.format(name=name, shape=list(shape), dims=list(dims)))
    if isinstance(source, sources.Computed) and not source.arrays and 0 not in shape:
        values = np.asarray(source.function(*np.ix_(*([0] for _dim in dims))))
        np.broadcast_to(values.astype(source.dtype), [1] * len(dims))
