"""The shape of the code: what may import what, who waits, and what is worked out only once."""

import ast
import gc
import importlib
import pkgutil
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
import zarr
from zarr.abc.store import Store
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import _compat
from zarr_xgroup.conventions import handlers
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.registry import BUILT_IN
from zarr_xgroup.datasets.interpretation import GroupReading, Interpreter
from zarr_xgroup.datasets.naming import plan_groups
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.datasets.undeclared import undeclared_data_arrays, undeclared_findings
from zarr_xgroup.findings import as_warnings
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.storage.library import Library
from zarr_xgroup.variables.factory import VariableFactory

PACKAGE = Path(zarr_xgroup.__file__).parent
STORES = PACKAGE / "tests" / "stores"

#: Folders from the top to the bottom: each imports only those that come after it.
FOLDERS = ("report", "datasets", "conventions", "variables", "storage", "metadata")
#: What every folder may import.
COMMON = (
    *("errors", "findings", "i18n", "options", "redaction", "_compat", "_requirements", "resolver"),
)
#: The modules of folders that do no I/O, and that know nothing that could.
PURE = (
    *("metadata.", "conventions.", "variables.sources", "variables.functions", "resolver"),
    "report.rules",
)
PURE_OF_DATASETS = ("dimensions", "grid_mappings", "interpretation", "naming", "plan")
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


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the names of the modules that a module imports when it runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield from imported(node)


@cache
def imports_of(name: str) -> frozenset[str]:
    """Return the names of the modules that one of the package imports."""
    return frozenset(imported(MODULES[name]))


@cache
def imported_here(name: str) -> set[str]:
    """Return the modules of the package that one of them imports, by name below the package."""
    found = set()
    for target in imports_of(name):
        if target.startswith("zarr_xgroup."):
            parts = target.removeprefix("zarr_xgroup.").split(".")
            known = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
            found.add(next(module for module in known if module in MODULES))
    return found


def is_pure(name: str) -> bool:
    if name == ADAPTER:
        return False
    folder, _dot, module = name.partition(".")
    return name.startswith(PURE) or (
        folder == "datasets" and module.partition(".")[0] in PURE_OF_DATASETS
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_folders_import_downwards_only(folder: str) -> None:
    below = FOLDERS[FOLDERS.index(folder) :]
    for name in MODULES:
        if name.partition(".")[0] == folder:
            targets = {target.partition(".")[0] for target in imported_here(name)}
            assert targets <= {*below, *COMMON}, name


def test_what_all_folders_may_import_imports_none_of_them_but_metadata() -> None:
    for name in COMMON:
        targets = {target.partition(".")[0] for target in imported_here(name)}
        assert targets <= {"metadata", *COMMON}, name


@pytest.mark.parametrize("name", [name for name in MODULES if is_pure(name)])
def test_pure_modules_know_no_io(name: str) -> None:
    reached, pending = {name}, [name]
    while pending:
        further = imported_here(pending.pop()) - reached - {ADAPTER}
        reached |= further
        pending.extend(further)
    targets = {(module, target) for module in reached for target in imports_of(module)}
    assert not [(module, target) for module, target in targets if f"{target}.".startswith(IMPURE)]


def test_datasets_know_no_convention_by_its_handler() -> None:
    targets = {it for name in MODULES if name.startswith("datasets.") for it in imports_of(name)}
    names = {it.rpartition(".")[2] for it in targets}
    assert {it for it in names if it.endswith("Handler")} <= {"ConventionHandler", "Handler"}


def test_no_convention_knows_another_handler_nor_what_is_a_dialect() -> None:
    for name in MODULES:
        if name.startswith("conventions.") and name != "conventions.registry":
            handlers_there = {it.rpartition(".")[2] for it in imports_of(name)}
            others = {it for it in handlers_there if it.endswith("Handler")}
            # That of STAC is the one of `proj`, and says more.
            allowed = {"ProjHandler"} if name == "conventions.dialects.stac" else set()
            assert others <= {"ConventionHandler", "Handler", *allowed}, name
            if not name.startswith("conventions.dialects"):
                assert not any(it.startswith("conventions.dialects") for it in imported_here(name))


def test_conventions_import_no_other_convention() -> None:
    """But `multiscales`, which says where attributes about an array may stand."""
    handled = {handler.__module__.removeprefix("zarr_xgroup.") for handler in BUILT_IN}
    handled |= {"conventions.proj"}
    for name in (*handled, "conventions.multiscales"):
        if not name.startswith("conventions.dialects"):
            assert imported_here(name) & handled <= {name}, name


def test_one_module_waits_for_io() -> None:
    calls = [
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "sync"
    ]
    assert calls == ["storage.reading"]


def test_records_are_frozen() -> None:
    mutable = []
    for info in pkgutil.walk_packages(zarr_xgroup.__path__, "zarr_xgroup."):
        if ".tests" in info.name or info.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(info.name)).values():
            own = isinstance(value, type) and value.__module__ == info.name
            parameters: Any = getattr(value, "__dataclass_params__", None)
            if own and parameters is not None and not parameters.frozen:
                mutable.append(value)
    assert len(mutable) <= 1


def test_everything_is_caught_only_where_others_code_is_called() -> None:
    catching = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
        # What closes a store and raises again catches nothing.
        and not isinstance(node.body[-1], ast.Raise)
    }
    assert (
        catching
        == {
            "conventions.registry",  # importing a plug-in, asking it what seems meant
            "conventions.handler_set",  # asking a handler
            "storage.library",  # what is raised while documents are lacking does not count
            "storage.reading",  # storage libraries and codecs; one thread hands on to another what it raises
            "demo",  # shows what an engine raises
        }
    )


# No I/O where there is to be none.


class DeadStore(MemoryStore):
    """A store that raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        if name in {method for method in dir(Store) if not method.startswith("_")} - {"close"}:
            message = f"{name} of a store was asked for"
            raise AssertionError(message)
        return super().__getattribute__(name)


@pytest.mark.parametrize("path", sorted(STORES.glob("*.zarr")), ids=lambda path: path.stem)
def test_interpreting_planning_and_telling_ask_no_store(path: Path) -> None:
    library, root = Library.open(path, {})
    library.read_tree(root)
    tree = library.tree
    groups = list(tree.subtree(Node(0, root)))
    factory = VariableFactory(tree, lambda _number: DeadStore())
    interpreter = Interpreter(tree, factory, handlers())
    readings = library.ask(lambda: interpreter.interpret(groups))
    plans = plan_groups(readings, factory)
    assert [plan.node for plan in plans] == groups
    findings = [finding for plan in plans for finding in plan.findings]
    told = as_warnings([*findings, *undeclared_findings(undeclared_data_arrays(plans, tree))])
    assert all(str(warning) for warning in told)
    assert all(str(warning.error) for warning in told)


# Worked out once.


def test_nothing_is_left_to_the_garbage_collector() -> None:
    """What is in a cycle of objects stays until Python looks for such: memory would pile up."""

    def number() -> Counter[type]:
        return Counter(kind for kind in map(type, gc.get_objects()) if kind in kinds)

    kinds = (ArrayView, Document, GroupPlan, GroupReading)
    gc.collect()
    before = number()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            xr.open_datatree(STORES / "spatial_test.zarr", engine="xgroup")
        assert number() == before
    finally:
        gc.enable()


# What neither xarray nor zarr promises. A test that fails here says that a touch can go.


def test_zarr_has_no_public_way_from_a_name_to_a_store() -> None:
    assert not hasattr(zarr.storage, "make_store_path")


def test_zarr_has_no_public_way_to_wait() -> None:
    assert not hasattr(zarr, "sync")


def test_xarray_does_not_tell_backends_whether_indexes_follow() -> None:
    if not _compat.has_index_option():
        pytest.skip("this xarray always builds indexes of dimension coordinates")
    given: list[str] = []

    class Backend(xr.backends.BackendEntrypoint):
        open_dataset_parameters = ("filename_or_obj", "drop_variables", "create_default_indexes")

        def open_dataset(self, filename_or_obj: Any, **options: Any) -> xr.Dataset:
            given.extend(options)
            return xr.Dataset()

    xr.open_dataset("nothing", engine=Backend, create_default_indexes=False)
    assert "create_default_indexes" not in given
