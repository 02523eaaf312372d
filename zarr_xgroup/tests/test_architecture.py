"""The structure of the code: imports, I/O, waiting, and where all exceptions may be caught."""

import ast
import gc
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import _compat
from zarr_xgroup.tests.builders import quietly

PACKAGE = Path(str(zarr_xgroup.__file__)).parent
STORES = PACKAGE / "tests" / "stores"

#: Folders, and the module `opening`, from the top to the bottom: each imports only those that come after it.
FOLDERS = ("report", "opening", "datasets", "conventions", "variables", "storage", "metadata")
#: What every folder may import; these modules import no folder but `metadata`.
COMMON = {"errors", "findings", "i18n", "options", "redaction", "_compat", "_requirements", "resolved", "resolver"}  # fmt: skip
#: What does no I/O, and knows nothing that could.
PURE = (
    *("metadata.", "conventions.", "variables.sources.", "variables.functions.", "resolver."),
    *("datasets.dimensions.", "datasets.grid_mappings.", "datasets.interpretation."),
    *("datasets.names.", "datasets.own_arrays.", "datasets.plan.", "datasets.planner."),
    *("datasets.planning.", "datasets.splitting.", "datasets.times.", "report.rules."),
)
#: The one module of these that lends zarr objects to handlers of third parties.
ADAPTER = "conventions.plugin_adapter"
IMPURE = ("zarr.", "xarray.backends.", "xarray.core.", "asyncio.", "fsspec.", "aiohttp.")


def modules() -> dict[str, ast.Module]:
    """Return the modules of the package but for its tests, by name below the package."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if not name.startswith("tests"):
            found[name.removesuffix(".__init__")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


MODULES = modules()


def imported(tree: ast.AST, *, whole: bool) -> Iterator[str]:
    """Yield the names that a module imports when it runs, or if `whole`, also those that it imports for types."""
    for node in ast.iter_child_nodes(tree):
        if not whole and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield from imported(node, whole=whole)


@cache
def imports_of(name: str, *, whole: bool = False) -> frozenset[str]:
    """Return the names that a module of the package imports, with `whole` also those that it imports for types."""
    return frozenset(imported(MODULES[name], whole=whole))


@cache
def imported_here(name: str, *, whole: bool = False) -> set[str]:
    """Return the modules of the package that one of them imports, by name below the package."""
    found = set()
    for target in imports_of(name, whole=whole):
        if target.startswith("zarr_xgroup."):
            parts = target.removeprefix("zarr_xgroup.").split(".")
            known = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
            found.add(next(module for module in known if module in MODULES))
    return found


@pytest.mark.parametrize("folder", [*FOLDERS, *sorted(COMMON)])
def test_folders_import_downwards_only(folder: str) -> None:
    below = {*FOLDERS[FOLDERS.index(folder) :]} if folder in FOLDERS else {"metadata"}
    for name in MODULES:
        if name.partition(".")[0] == folder:
            targets = {target.partition(".")[0] for target in imported_here(name)}
            assert targets <= below | COMMON, name


def test_pure_modules_do_not_import_io() -> None:
    for name in MODULES:
        if f"{name}.".startswith(PURE) and name != ADAPTER:
            reached, pending = {name}, [name]
            while pending:
                further = imported_here(pending.pop()) - reached - {ADAPTER}
                reached |= further
                pending.extend(further)
            targets = [(it, target) for it in reached for target in imports_of(it)]
            assert [it for it in targets if f"{it[1]}.".startswith(IMPURE)] == [], name


def test_there_are_no_import_cycles() -> None:
    """Imports for types and inside functions are included."""
    below = {name: imported_here(name, whole=True) - {name} for name in MODULES}
    circular = set()
    for name in below:
        reached, pending = set[str](), [name]
        while pending:
            further = below[pending.pop()] - reached
            reached |= further
            pending.extend(further)
        if name in reached:
            circular.add(name)
    assert circular == set()


def test_no_constructor_does_io() -> None:
    calls = [
        (name, ast.unparse(call.func))
        for name, tree in MODULES.items()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.name in ("__init__", "__post_init__")
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
    ]
    doing_io = ("wait", "open", "read", "ask", "gather")
    assert [it for it in calls if it[1].rpartition(".")[2].startswith(doing_io)] == []


def test_all_exceptions_are_caught_only_around_code_of_third_parties() -> None:
    catching = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
        # What closes a store and raises again catches nothing.
        and not isinstance(node.body[-1], ast.Raise)
    }
    assert catching == {
        "conventions.registry",  # importing a plug-in
        "conventions.handler_set",  # asking a handler
        "storage.library",  # an exception raised while documents are unread is ignored
        "storage.reading",  # storage libraries and codecs; a thread hands on what it raises
        "redaction",  # pickling an error of a library
        "demo",  # shows what an engine raises
    }


# Private names of zarr and xarray.


#: The modules of xarray that are documented, or used in its guide for backends.
PUBLIC_XARRAY = {"backends", "conventions", "indexes", "core.indexing", "core.utils"}
#: The private names that the package imports. Only `_compat` may import them.
PRIVATE_NAMES = {
    "xarray.backends.zarr.ZarrArrayWrapper",
    "zarr.core.buffer.default_buffer_prototype",
    "zarr.core.sync.sync",
    "zarr.storage._common.make_store_path",
}
#: The modules that look at lazy data of a variable without reading them.
READING_LAZY_DATA = (
    *("conventions.plugin_adapter", "datasets.decode", "variables.factory", "variables.stored"),
)
#: The private attributes of other packages' objects that the package uses.
PRIVATE_ATTRIBUTES = {
    "_compat": {"_async_array", "_store", "_construct_direct", "_getframe"},
    **{name: {"_data"} for name in READING_LAZY_DATA},
    "errors": {"_getframe"},  # of Python's `sys`
    "storage.reading": {
        "_ls",
        "_session",
        "_conns",
        "_get_running_loop",
    },  # of fsspec, aiohttp, asyncio
}


def is_private(name: str) -> bool:
    """Return whether a dotted name is one of zarr or xarray that they may change at any time."""
    package, *parts = name.split(".")
    if package == "zarr":
        return parts[:1] == ["core"] or any(part.startswith("_") for part in parts)
    if package != "xarray":
        return False
    # Names in `xarray` itself are public, and so are the attributes of its classes.
    is_public = {".".join(parts), ".".join(parts[:-1])} & PUBLIC_XARRAY
    return len(parts) > 1 and not is_public and not parts[0][0].isupper()


def dotted_names(tree: ast.AST) -> Iterator[str]:
    """Yield the imported names of a module, and those that it reaches with dots, such as ``xr.core.utils.Frozen``."""
    yield from imported(tree, whole=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            package, *parts = ast.unparse(node).split(".")
            yield ".".join([{"xr": "xarray"}.get(package, package), *parts])


def private_attributes(name: str) -> set[str]:
    """Return the attributes with an underscore that a module of the package uses and does not define, also by `getattr`."""
    defined, used = set[str](), set[str]()
    for node in ast.walk(MODULES[name]):
        if isinstance(node, ast.Attribute):
            is_own = getattr(node.value, "id", "") in ("self", "cls")
            (defined if is_own else used).add(node.attr)
        elif isinstance(node, ast.FunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
            used.add(str(getattr(node.args[1], "value", "")))
    documented = {"_replace"}  # of named tuples
    return {it for it in used - defined - documented if it[:1] == "_" and it[:2] != "__"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("zarr.core.sync.sync", True),
        ("zarr.core", True),
        ("zarr.storage._common.make_store_path", True),
        ("zarr.abc.store.Store", False),
        ("zarr.open_group", False),
        ("xarray.core.dataset.Dataset", True),
        ("xarray.core.indexing.LazilyIndexedArray", False),
        ("xarray.backends.zarr.ZarrStore", True),
        ("xarray.backends.ZarrStore", False),
        ("xarray.open_dataset", False),
        ("numpy.core.multiarray", False),
    ],
)
def test_private_names_are_recognised(name: str, expected: bool) -> None:
    assert is_private(name) is expected


def test_only_compat_uses_private_names_of_zarr_and_xarray() -> None:
    """A name that is added here needs a reason in `_compat`, and its public replacement if there is one."""
    names = {name: set(filter(is_private, dotted_names(tree))) for name, tree in MODULES.items()}
    assert {name: private for name, private in names.items() if private} == {
        "_compat": PRIVATE_NAMES
    }
    attributes = {name: private_attributes(name) for name in MODULES}
    assert {name: private for name, private in attributes.items() if private} == PRIVATE_ATTRIBUTES


# No I/O where there is to be none.


#: Modules whose objects belong to arrays and groups; the few of an open call are freed when the collector runs.
PER_ARRAY = ("zarr_xgroup.conventions.", "zarr_xgroup.datasets.")


def test_no_resource_is_left_to_the_garbage_collector() -> None:
    """What is in a cycle of objects stays until Python looks for such: memory would pile up."""

    def number() -> Counter[type]:
        kinds = map(type, gc.get_objects())
        return Counter(it for it in kinds if str(it.__module__).startswith(PER_ARRAY))

    quietly(xr.open_datatree, STORES / "spatial_test.zarr", engine="xgroup")
    gc.collect()
    before = number()
    gc.disable()
    try:
        quietly(xr.open_datatree, STORES / "spatial_test.zarr", engine="xgroup")
        assert number() == before
    finally:
        gc.enable()


def test_zarr_and_xarray_have_no_public_replacements_for_compat() -> None:
    """A test that fails here says that a touch of what they do not promise can go."""
    assert not hasattr(zarr.storage, "make_store_path")
    assert not hasattr(zarr, "sync")
    assert not hasattr(xr.backends, "ZarrArrayWrapper")
    assert not hasattr(zarr.storage.WrapperStore, "store")
    # A later minimum may have `zarr.buffer` and `zarr.Array.async_array`.
    assert "zarr>=3.0.0" in (requires("xarray-zarr-xgroup") or ())
    if not _compat.has_index_option():
        return  # this xarray always builds indexes of dimension coordinates
    given: list[str] = []

    class Backend(xr.backends.BackendEntrypoint):
        open_dataset_parameters = ("filename_or_obj", "drop_variables", "create_default_indexes")

        def open_dataset(self, filename_or_obj: Any, **options: Any) -> xr.Dataset:
            given.extend(options)
            return xr.Dataset()

    xr.open_dataset("nothing", engine=Backend, create_default_indexes=False)
    assert "create_default_indexes" not in given
