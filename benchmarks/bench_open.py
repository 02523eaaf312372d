"""What asv follows over commits: the figures of the table, and what they are ratios of."""

import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import xarray as xr

from benchmarks import figures, stores
from benchmarks.figures import ENGINES, Engine, Opening
from benchmarks.stores import Kind

KINDS: tuple[Kind, ...] = ("refs", "inline", "worst")
SIZES = (50, 400)
RUNS = 3


WHAT: dict[str, dict[str, bool]] = {
    "tree": {},
    "one group": {"one_group": True},
    "one group, not consolidated": {"one_group": True, "consolidated": False},
}
COMPARISONS = {
    f"{compared.figure}, N = {compared.ours.n_groups}": compared
    for compared in (
        *figures.trees(SIZES[-1]),
        *figures.costs_per_group(SIZES),
        *figures.single_groups(SIZES),
    )
}


class _InFolder:
    """Has a folder for stores, and no warnings printed."""

    def setup(self, *_parameters: Any) -> None:
        warnings.simplefilter("ignore")
        self._temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self._temporary.name)

    def teardown(self, *_parameters: Any) -> None:
        self._temporary.cleanup()


class Open(_InFolder):
    """Opening all groups of a store, or one."""

    params = (SIZES, KINDS, ENGINES, tuple(WHAT))
    param_names = ("n", "kind", "engine", "what")

    def setup(self, *parameters: Any) -> None:
        super().setup()
        n, kind, engine, what = parameters
        opening = Opening(engine, kind, n, **WHAT[what])
        opening.warm_up(self.folder)
        self.open = opening.call(self.folder)

    def time_open(self, *_parameters: Any) -> None:
        self.open()


class Ratios(_InFolder):
    """Ratios to engine zarr (and to smaller stores), with the garbage collector on and off."""

    params = (tuple(COMPARISONS), (True, False))
    param_names = ("figure", "collector")
    timeout = 300.0
    unit = "ratio"

    def track_time(self, figure: str, collecting: bool) -> float:
        compared = [COMPARISONS[figure]]
        return figures.ratios(compared, RUNS, self.folder, collecting=collecting)[0]


class Memory:
    """The memory of a process that opens a tree; the store was made by another process."""

    params = (("refs", "inline"), ENGINES)
    param_names = ("kind", "engine")
    n = 200

    def setup_cache(self) -> None:
        for kind in KINDS:
            Path(f"{kind}.pickle").write_bytes(pickle.dumps(stores.contents(kind, self.n)))

    def setup(self, kind: Kind, _engine: Engine) -> None:
        warnings.simplefilter("ignore")
        with Path(f"{kind}.pickle").open("rb") as file:
            self.store = stores.memory_store(pickle.load(file))
        for engine in ENGINES:  # what each of them imports counts for both
            Opening(engine, kind, 1).warm_up(Path())

    def peakmem_open(self, _kind: Kind, engine: Engine) -> None:
        xr.open_datatree(self.store, engine=engine)  # type: ignore[arg-type]


class Reading:
    """Reading a variable that has been opened."""

    params = (ENGINES,)
    param_names = ("engine",)

    def setup(self, engine: Engine) -> None:
        warnings.simplefilter("ignore")
        self.variable = figures.large_variable(engine)
        figures.read_whole(self.variable)

    def time_whole(self, _engine: Engine) -> None:
        figures.read_whole(self.variable)

    def time_slices(self, _engine: Engine) -> None:
        figures.read_slices(self.variable)


def timeraw_import() -> tuple[str, str]:
    """Import zarr_xgroup, after xarray and zarr."""
    return "import zarr_xgroup.backend", "import xarray, zarr"
