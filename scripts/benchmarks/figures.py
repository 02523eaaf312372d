"""Rows of the table: a call of engine xgroup, the call of engine zarr to compare with, and the aim."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import xarray as xr
from xarray.backends import BackendEntrypoint

import zarr_xgroup
from zarr_xgroup.tests.servers import serve_http

from . import stores
from .measure import Call, first_opens, medians, peak, uncached

Engine: TypeAlias = Literal["xgroup", "zarr"]

#: Real products, each with the group that is opened alone.
PRODUCTS = {
    "sentinel1_grd_eopf_v2": "S01SIWGRD_20250912T053648_0025_C023_5AA4_0081FD_VH/measurements",
    "sentinel2_l1c_eopf_v2": "measurements/reflectance/r10m",
    "sentinel2_l1c_geozarr_v3": "measurements/reflectance/r10m",
}
DEMO = Path(zarr_xgroup.__file__).parent / "demo.zarr"


@dataclass(frozen=True)
class Plan:
    """Size of a measurement. The defaults take about five minutes on two cores.

    Parameters
    ----------
    groups : int
        Number of groups of the trees, and of the store from which one group is opened.
    tree_runs, group_runs, product_runs, process_runs : int
        How often each tree, single group, tree of a product, and group in a new process is opened.
    products : mapping of str to str
        Names of products, each with the group that is opened alone.
    """

    groups: int = 400
    tree_runs: int = 5
    group_runs: int = 45
    product_runs: int = 7
    process_runs: int = 9
    products: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Row:
    """A figure: engine xgroup divided by engine zarr, or a difference of numbers of requests.

    Attributes
    ----------
    title : str
        What is compared.
    value : float
        The figure.
    aim : float
        The highest acceptable figure.
    limit : float or None
        The figure of `Ready`: the time that xarray itself needs.
    column : str
        The column of history.md, which has the largest value of all rows with this column.
    """

    title: str
    value: float
    aim: float
    column: str
    limit: float | None = None


class Ready(BackendEntrypoint):
    """An engine that already has all variables. It shows how long xarray takes to make the returned objects."""

    def open_dataset(self, filename_or_obj: Any, *, drop_variables: Any = None) -> xr.Dataset:
        """Return the root of a tree made by `ready`."""
        return _dataset(filename_or_obj["/"])

    def open_datatree(
        self, filename_or_obj: Any, *, drop_variables: Any = None, **_options: Any
    ) -> xr.DataTree:
        """Return a tree made by `ready`."""
        return xr.DataTree.from_dict(
            {path: _dataset(node) for path, node in filename_or_obj.items()}
        )


def ready(opened: xr.Dataset | xr.DataTree) -> Call:
    """Return a call that makes the same object with `Ready`, from the same variables without indexes."""
    is_tree = isinstance(opened, xr.DataTree)
    nodes = (
        {node.path: node.to_dataset(inherit=False) for node in opened.subtree}
        if isinstance(opened, xr.DataTree)
        else {"/": opened}
    )
    variables = {
        path: {name: variable.to_base_variable() for name, variable in node.variables.items()}
        for path, node in nodes.items()
    }
    described = {
        path: (variables[path], set(node.coords), node.attrs) for path, node in nodes.items()
    }
    return partial(xr.open_datatree if is_tree else xr.open_dataset, described, engine=Ready)  # type: ignore[arg-type]


def _dataset(node: Any) -> xr.Dataset:
    variables, coordinates, attributes = node
    data = {name: variable for name, variable in variables.items() if name not in coordinates}
    return xr.Dataset(data, {name: variables[name] for name in coordinates}, attributes)


def rows(plan: Plan, folder: Path) -> Iterator[Row]:
    """Yield each row after measuring it. Stores that are not in memory are written to the folder."""
    yield from trees(plan.groups, plan.tree_runs)
    yield one_of_many_groups(plan.groups, plan.group_runs)
    yield from small_groups(plan.group_runs)
    yield from products(plan, folder)
    yield from first_opens_of_processes(plan.process_runs)
    yield from reading(plan.group_runs)
    yield memory(plan.groups // 2)
    yield from requests()


def trees(n: int, runs: int) -> Iterator[Row]:
    """Yield the rows for trees of n groups."""

    def call(engine: Engine, kind: stores.Kind) -> Call:
        store: Any = stores.memory_store(stores.contents(kind, n))
        return partial(xr.open_datatree, store, engine=engine)

    kinds: tuple[stores.Kind, ...] = ("refs", "absolute", "relative", "worst")
    calls = {f"xgroup {kind}": call("xgroup", kind) for kind in kinds}
    limits = {f"limit {kind}": ready(calls[f"xgroup {kind}"]()) for kind in kinds}  # type: ignore[arg-type]
    theirs = {"inline": call("zarr", "inline"), "bare": call("zarr", "refs")}
    times = medians({**calls, **limits, **theirs}, runs)
    for kind, other, aim in (
        ("refs", "inline", 0.23),
        ("refs", "bare", 0.70),
        ("absolute", "inline", 0.19),
        ("relative", "inline", 0.19),
        ("worst", "inline", 0.75),
    ):
        value, limit = (times[f"{engine} {kind}"] / times[other] for engine in ("xgroup", "limit"))
        column = f"{kind} / {other}"
        yield Row(
            f"tree of {n} groups: xgroup on {kind} / zarr on {other}", value, aim, column, limit
        )


def one_of_many_groups(n: int, runs: int) -> Row:
    """Return the row for one group of a store with n groups."""
    store = stores.memory_store(stores.contents("refs", n))
    value, _uncached, limit = _of_a_group(store, store, stores.group_path(n // 2), runs)
    title = f"one of {n} groups: xgroup on refs / zarr on bare"
    return Row(title, value, 0.055, "one group / bare", limit)


def small_groups(runs: int) -> Iterator[Row]:
    """Yield the rows for groups of few arrays, opened repeatedly in one process."""
    pairs: tuple[tuple[stores.Kind, stores.Kind], ...] = (("plain", "plain"), ("refs", "inline"))
    for ours, theirs in pairs:
        for n in (2, 10):
            first, second = (
                stores.memory_store(stores.small_contents(kind, n)) for kind in (ours, theirs)
            )
            value, first_value, limit = _of_a_group(first, second, stores.SMALL, runs)
            title = f"a group of {n} arrays: xgroup on {ours} / zarr on {theirs}"
            yield Row(title, value, 1.1, f"{n} arrays, {ours}", limit)
            yield Row(f"{title}, first of its kind", first_value, 1.25, f"first, {ours}", limit)


def products(plan: Plan, folder: Path) -> Iterator[Row]:
    """Yield the rows for real products, or no rows without the documents of these products."""
    if not stores.SHARED.is_dir():
        return
    aims = {"tree": {True: 0.65, False: 0.45}, "group": {True: 0.50, False: 1.10}}
    for name, group in (PRODUCTS if plan.products is None else plan.products).items():
        store = stores.product(name, folder)
        for consolidated in (False, True):
            how = "consolidated" if consolidated else "plain"
            options = {"consolidated": consolidated}
            calls: dict[str, Call] = {
                engine: partial(xr.open_datatree, store, engine=engine, **options)  # type: ignore[arg-type]
                for engine in ("xgroup", "zarr")
            }
            calls["limit"] = ready(calls["xgroup"]())  # type: ignore[arg-type]
            times = medians(calls, plan.product_runs)
            value, limit = (times[key] / times["zarr"] for key in ("xgroup", "limit"))
            title = f"{name}, {how}: tree"
            yield Row(title, value, aims["tree"][consolidated], f"products, tree, {how}", limit)
            value, first_value, limit = _of_a_group(store, store, group, plan.group_runs, **options)
            title = f"{name}, {how}: group {Path(group).name}"
            yield Row(title, value, aims["group"][consolidated], f"products, group, {how}", limit)
            yield Row(
                f"{title}, first of its kind", first_value, 1.1, "first, products, group", limit
            )


def _of_a_group(
    ours: Any, theirs: Any, group: str, runs: int, **options: Any
) -> tuple[float, float, float]:
    """Return the times for a group, divided by that of engine zarr: engine xgroup, the same without caches, `Ready`."""
    calls: dict[str, Call] = {
        engine: partial(xr.open_dataset, store, engine=engine, group=group, **options)
        for engine, store in (("xgroup", ours), ("zarr", theirs))
    }
    calls["limit"] = ready(calls["xgroup"]())  # type: ignore[arg-type]
    calls["uncached"] = uncached(calls["xgroup"])
    times = medians(calls, runs)
    ours_uncached, limit = times["uncached"] / times["zarr"], times["limit"] / times["zarr"]
    return times["xgroup"] / times["zarr"], ours_uncached, limit


def first_opens_of_processes(runs: int) -> Iterator[Row]:
    """Yield the rows for processes that import xarray and open a group of the demo store.

    Both engines open the same variables of `buoy`. Engine zarr opens `ocean` without times, and needs less of xarray.
    """
    for group, column in (("ocean", "first open"), ("buoy", "first open, same variables")):
        measured = first_opens(str(DEMO), group, ("xgroup", "zarr"), runs)
        (time, memory), (time_of_zarr, memory_of_zarr) = measured["xgroup"], measured["zarr"]
        title = f"first open in a process, {group}"
        yield Row(f"{title}: time", time / time_of_zarr, 1.10, column)
        yield Row(f"{title}: memory", memory / memory_of_zarr, 1.10, f"{column}, memory")


def reading(runs: int) -> Iterator[Row]:
    """Yield the row for reading a variable, both by chunks and as a whole."""

    def call(engine: Engine) -> Call:
        store: Any = stores.memory_store(stores.large_contents())
        dataset = xr.open_dataset(store, engine=engine, group=stores.LARGE, cache=False)
        variable = dataset["temperature"].variable
        parts = [(number, slice(100), slice(100)) for number in range(len(variable))]
        return lambda: [variable[part].values for part in (*parts, (slice(None), 7, 7), ())]

    times = medians({"xgroup": call("xgroup"), "zarr": call("zarr")}, runs)
    yield Row("reading a variable", times["xgroup"] / times["zarr"], 1.05, "reading")


def memory(n: int) -> Row:
    """Return the row for the memory that opening a tree of n groups takes."""
    store: Any = stores.memory_store(stores.contents("refs", n))
    ours, theirs = (
        peak(partial(xr.open_datatree, store, engine=engine)) for engine in ("xgroup", "zarr")
    )
    title = f"peak memory of a tree of {n} groups: xgroup on refs / zarr on bare"
    return Row(title, ours / theirs, 1.0, "memory")


def requests() -> Iterator[Row]:
    """Yield the rows for the additional requests to a web server that opening a group takes."""
    kinds: tuple[tuple[stores.Kind, int], ...] = (("plain", 0), ("refs", 1))  # 1: the shared times
    for kind, aim in kinds:
        with serve_http(stores.contents(kind, 2)) as server:
            counts = {}
            for engine in ("xgroup", "zarr"):
                server.requests.clear()
                xr.open_dataset(server.url, group=stores.group_path(1), engine=engine)
                counts[engine] = len(server.requests)
        more = counts["xgroup"] - counts["zarr"]
        yield Row(f"more requests over HTTP for one group: {kind}", more, aim, f"requests, {kind}")
