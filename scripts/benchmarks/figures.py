"""What is compared with what, and what is aimed at: the rows of the table."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import xarray as xr

from zarr_xgroup.tests.builders import write_local
from zarr_xgroup.tests.servers import serve_http

from . import stores
from .measure import Call, import_seconds, medians, peak
from .stores import Kind

Engine: TypeAlias = Literal["xgroup", "zarr"]

ENGINES: tuple[Engine, ...] = ("xgroup", "zarr")
#: Of what is opened group by group: what declares nothing, and what refers to another group.
KINDS: tuple[Kind, ...] = ("plain", "refs")
#: What is opened of small groups by engine xgroup, and by engine zarr.
SMALL_GROUPS: tuple[tuple[Kind, Kind], ...] = (
    ("plain", "plain"),
    ("refs", "refs"),
    ("refs", "inline"),
)
PRODUCTS = ("sentinel1_grd_eopf_v2", "sentinel2_l1c_eopf_v2", "sentinel2_l1c_geozarr_v3")


@dataclass(frozen=True)
class Plan:
    """How much is measured. The defaults take some seven minutes on two cores.

    Parameters
    ----------
    trees : mapping of int to int
        Numbers of groups of the trees to open, with how often each of them is opened.
    flat : sequence of int
        Numbers of groups whose cost per group is compared with that of the first.
    flat_runs : int
        How often each of these is opened.
    groups : sequence of int
        Numbers of groups of the stores of which one group is opened; the last one counts
        where there is one row.
    small : sequence of int
        Numbers of arrays of the small groups that are opened.
    memory : int
        Number of groups of the tree whose peak of memory is taken.
    products : sequence of str
        Real products to open.
    product_runs : int
        How often each of them is opened.
    runs : int
        How often a group is opened; a variable is read three times as often.
    imports : int
        How often zarr_xgroup is imported.
    """

    trees: Mapping[int, int] = field(default_factory=lambda: {50: 7, 400: 3, 1000: 2})
    flat: tuple[int, ...] = (50, 400, 2000)
    flat_runs: int = 2
    groups: tuple[int, ...] = (50, 400)
    small: tuple[int, ...] = (2, 10)
    memory: int = 200
    products: tuple[str, ...] = PRODUCTS
    product_runs: int = 7
    runs: int = 15
    imports: int = 7


@dataclass(frozen=True)
class Opening:
    """What is opened by which engine: a tree, or the group in the middle of a store."""

    engine: Engine
    kind: Kind
    n_groups: int
    one_group: bool = False
    consolidated: bool = True

    @property
    def n_opened(self) -> int:
        """How many groups the time is spent on."""
        return 1 if self.one_group else self.n_groups

    def call(self, folder: Path) -> Call:
        """Return what opens it; a store that is not consolidated is written below the folder."""
        store = _store(self.kind, self.n_groups, folder, consolidated=self.consolidated)
        options: dict[str, Any] = {"engine": self.engine, "consolidated": self.consolidated}
        if self.one_group:
            group = stores.group_path(self.n_groups // 2)
            return partial(xr.open_dataset, store, group=group, **options)
        return partial(xr.open_datatree, store, **options)

    def warm_up(self, folder: Path) -> None:
        """Do what only the first open in a process has to do, such as imports."""
        replace(self, n_groups=1).call(folder)()


@dataclass(frozen=True)
class Comparison:
    """A ratio to state: of times, for each group that is opened.

    The column is that of the history which it has; most have none.
    """

    figure: str
    goal: str
    ours: Opening
    theirs: Opening
    column: str = ""


@dataclass(frozen=True)
class Row:
    """A line of the table: a figure with the garbage collector on, and with it off."""

    figure: str
    n: int | None = None
    on: float | None = None
    off: float | None = None
    goal: str = ""
    unit: str = ""
    column: str = ""


def rows(plan: Plan, folder: Path) -> Iterator[Row]:
    """Yield the rows as they are measured. The folder is for stores that have to be in one."""
    for n, runs in plan.trees.items():
        slowest = n == max(plan.trees)
        yield from _compared(trees(n)[: 1 if slowest else None], runs, folder)
    yield from _compared(costs_per_group(plan.flat), plan.flat_runs, folder, on=False)
    yield from _compared(single_groups(plan.groups), plan.runs, folder)
    yield from small_groups(plan.small, plan.runs)
    yield from real_products(plan.products, plan.product_runs, folder)
    yield from reading(plan.runs)
    yield memory(plan.memory, folder)
    yield from requests()
    milliseconds = 1e3 * import_seconds(plan.imports)
    yield Row("import zarr_xgroup, after xarray and zarr", on=milliseconds, goal="<= 20", unit="ms")


def landing(n: int, runs: int, folder: Path) -> Iterator[Row]:
    """Yield the rows that the history of landings has, for stores of n groups."""
    kept = [compared for compared in (*trees(n), *single_groups((n,))) if compared.column]
    whole = [compared for compared in kept if not compared.ours.one_group]
    single = [compared for compared in kept if compared.ours.one_group]
    yield from _compared(whole, runs, folder, off=False)
    yield from _compared(single, 5 * runs, folder, off=False)
    yield from small_groups((2, 10), 5 * runs)
    yield memory(n // 2, folder)
    yield from requests()


def trees(n: int) -> list[Comparison]:
    """Return what is compared for trees of n groups; the first one is the one that counts most."""
    return [
        _tree("refs", "inline", n, "<= 0.25", column="refs / inline"),
        _tree("refs", "refs", n, "<= 0.80", column="refs / bare"),
        _tree("refs+ref", "inline", n, "<= 0.25"),
        _tree("refs+ref", "refs+ref", n, "<= 0.80"),
        _tree("absolute", "inline", n, "<= 0.16", column="absolute / inline"),
        _tree("worst", "inline", n, "<= 0.6", column="worst / inline"),
        _tree("plain", "plain", n, "<= 0.9", consolidated=False),
    ]


def costs_per_group(sizes: Collection[int]) -> list[Comparison]:
    """Return the comparisons of trees by engine xgroup with the smallest one."""
    first, *others = (Opening("xgroup", "refs", n) for n in sizes)
    name = f"cost per group of open_datatree: xgroup on refs / at N = {first.n_groups}"
    return [Comparison(name, "0.85 to 1.15", opening, first) for opening in others]


def single_groups(sizes: Collection[int]) -> list[Comparison]:
    """Return what is compared for one group of stores with n groups, by n."""
    *_, last = sizes
    consolidated = Opening("xgroup", "refs", last, one_group=True)
    single = [replace(consolidated, n_groups=n, consolidated=False) for n in sizes]
    name = "one group, not consolidated: xgroup on refs /"
    return [
        Comparison(
            "one group, consolidated: xgroup on refs / zarr on refs",
            "<= 0.055",
            consolidated,
            replace(consolidated, engine="zarr"),
            column="one group / bare",
        ),
        *(
            Comparison(
                f"{name} zarr on inline",
                "<= 0.75",
                ours,
                replace(ours, engine="zarr", kind="inline"),
            )
            for ours in single
        ),
        *(
            Comparison(f"{name} at N = {single[0].n_groups}", "1.0", ours, single[0])
            for ours in single[1:]
        ),
    ]


def small_groups(sizes: Collection[int], runs: int) -> Iterator[Row]:
    """Yield rows on groups of few arrays, as are opened one after the other: nothing is new then."""
    for (ours, theirs), n in product(SMALL_GROUPS, sizes):
        opens = {
            engine: partial(
                xr.open_dataset,
                stores.memory_store(stores.small_contents(kind, n)),  # type: ignore[arg-type]
                engine=engine,
                group=stores.SMALL,
            )
            for engine, kind in zip(ENGINES, (ours, theirs), strict=True)
        }
        without = " (no coordinates)" if theirs in stores.DECLARES else ""
        figure = f"a group of few arrays: xgroup on {ours} / zarr on {theirs}{without}"
        row = _row_of_calls(figure, n, "<= 1.6", opens, 3 * runs)
        compared = ours if ours == theirs else f"{ours} / {theirs}"
        yield replace(row, column=f"{n} arrays, {compared}")


def ratios(
    comparisons: Collection[Comparison], runs: int, folder: Path, *, collecting: bool
) -> list[float]:
    """Return the ratios of comparisons, for which all that they open takes turns."""
    openings = dict.fromkeys(
        opening for compared in comparisons for opening in (compared.ours, compared.theirs)
    )
    calls = {opening: opening.call(folder) for opening in openings}
    for opening in openings:
        opening.warm_up(folder)
    times = medians(calls, runs, collecting=collecting)
    costs = {opening: taken / opening.n_opened for opening, taken in times.items()}
    return [costs[compared.ours] / costs[compared.theirs] for compared in comparisons]


def real_products(names: Collection[str], runs: int, folder: Path) -> Iterator[Row]:
    """Yield rows on real products, or one that says that they are not there."""
    if not stores.SHARED.is_dir():
        yield Row("real products: not beside the repository")
        return
    for name in names:
        store: Any = stores.memory_store(stores.product_contents(name, folder))
        n_groups = len(list(xr.open_datatree(store, engine="zarr").subtree))
        opens = {engine: partial(xr.open_datatree, store, engine=engine) for engine in ENGINES}
        yield _row_of_calls(
            f"open_datatree of {name}: xgroup / zarr", n_groups, "<= 0.8", opens, runs
        )


def reading(runs: int) -> Iterator[Row]:
    """Yield rows on reading a variable that has been opened."""
    for name, read in {"whole": read_whole, "in slices": read_slices}.items():
        calls = {engine: partial(read, large_variable(engine)) for engine in ENGINES}
        figure = f"reading a variable {name}: xgroup / zarr"
        yield _row_of_calls(figure, 1, "0.95 to 1.05", calls, 3 * runs)


def large_variable(engine: Engine) -> xr.Variable:
    """Return a lazy variable of some megabytes that does not keep what is read."""
    store: Any = stores.memory_store(stores.large_contents())
    dataset = xr.open_dataset(store, engine=engine, group=stores.LARGE, cache=False)
    return dataset["temperature"].variable


def read_whole(variable: xr.Variable) -> None:
    """Read all chunks."""
    variable.values  # noqa: B018


def read_slices(variable: xr.Variable) -> None:
    """Read a part of each chunk one by one, and lines through all chunks and every second one."""
    parts = [(number, slice(100), slice(100)) for number in range(len(variable))]
    for index in (*parts, (slice(None), 7, 7), (slice(None, None, 2), 7)):
        variable[index].values  # noqa: B018


def requests() -> Iterator[Row]:
    """Yield rows on what a web server is asked for one group; to read shared times costs one request."""
    for kind, goal in zip(KINDS, ("0", "1"), strict=True):
        with serve_http(stores.contents(kind, 2)) as server:
            counts = {}
            for engine in ENGINES:
                server.requests.clear()
                xr.open_dataset(server.url, group=stores.group_path(1), engine=engine)
                counts[engine] = len(server.requests)
        more = counts["xgroup"] - counts["zarr"]
        yield Row(
            f"requests over HTTP for one group, beside those of zarr: xgroup on {kind}",
            on=more,
            goal=goal,
            unit="more",
            column=f"requests, {kind}",
        )


def memory(n: int, folder: Path) -> Row:
    """Return the row on the memory that opening a tree takes."""
    ours, theirs = (Opening(engine, "refs", n) for engine in ENGINES)

    def ratio(*, collecting: bool) -> float:
        return peak(ours.call(folder), collecting=collecting) / peak(
            theirs.call(folder), collecting=collecting
        )

    figure = "peak of memory of open_datatree: xgroup on refs / zarr on refs"
    on, off = ratio(collecting=True), ratio(collecting=False)
    return Row(figure, n, on, off, "<= 1.0", column="memory")


def _tree(
    ours: Kind, theirs: Kind, n: int, goal: str, *, consolidated: bool = True, column: str = ""
) -> Comparison:
    what = "open_datatree" if consolidated else "open_datatree, not consolidated"
    # Engine zarr follows no references.
    without = " (no coordinates)" if theirs in stores.DECLARES else ""
    return Comparison(
        f"{what}: xgroup on {ours} / zarr on {theirs}{without}",
        goal,
        Opening("xgroup", ours, n, consolidated=consolidated),
        Opening("zarr", theirs, n, consolidated=consolidated),
        column,
    )


def _compared(
    comparisons: list[Comparison], runs: int, folder: Path, *, on: bool = True, off: bool = True
) -> Iterator[Row]:
    unasked: list[float | None] = [None] * len(comparisons)
    without = ratios(comparisons, runs, folder, collecting=False) if off else unasked
    collecting = ratios(comparisons, runs, folder, collecting=True) if on else unasked
    for compared, with_collector, without_it in zip(comparisons, collecting, without, strict=True):
        yield Row(
            compared.figure,
            compared.ours.n_groups,
            with_collector,
            without_it,
            compared.goal,
            column=compared.column,
        )


def _row_of_calls(
    figure: str, n: int, goal: str, calls: Mapping[Engine, Callable[[], object]], runs: int
) -> Row:
    medians(calls, 1, collecting=True)  # what only the first call pays for
    on, off = (medians(calls, runs, collecting=collecting) for collecting in (True, False))
    return Row(figure, n, on["xgroup"] / on["zarr"], off["xgroup"] / off["zarr"], goal)


@cache
def _store(kind: Kind, n_groups: int, folder: Path, *, consolidated: bool) -> Any:
    found = stores.contents(kind, n_groups, consolidated=consolidated)
    if consolidated:
        return stores.memory_store(found)
    return write_local(found, folder / f"{kind}_{n_groups}.zarr")
