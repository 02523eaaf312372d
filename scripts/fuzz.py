"""Open random stores, and print which laws they break.

``python scripts/fuzz.py --number 1000 --seed 0`` opens the stores of the seeds 0 to 999 by this
engine and by engine zarr, explains and checks some, and prints a table of what breaks the laws of
`zarr_xgroup.tests.fuzzing` and `zarr_xgroup.tests.fuzzing_reports`: how often, the first seeds, and the
first store cut down to what it takes, as JSON. That JSON, with a name, goes into
`zarr_xgroup/tests/found_stores.json`, which the tests open for ever after. Stores depend on nothing but
their seed and the version of hypothesis, which draws them and cuts them down.

To search for long, choose seeds that nobody had (the tests have those from 0), give each core a worker
(``--workers 2``), leave the cores to others (``nice -n 19``), and raise ``--limit`` where the machine
does much else: ``--seconds 3600`` ends the search, ``--effort 0`` only names what is found. Search from
a copy of the repository, lest an edit be met half-way: a worker that had to be ended reads the code
again. A core opens 15 to 30 stores a second, each by both engines as a tree and group by group; to explain
and check one takes longer than that, and is done with one in four (``--reports 1``: with each). To look
into a seed: ``--seed 4711 --number 1``. A warning, an error or a hang may be due to the installed
versions: what breaks a law is the difference from engine zarr.
"""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from math import inf

from zarr_xgroup.tests.searching import REPORTS, Case, searched, smallest


def searched_by_many(
    seeds: range, workers: int, seconds: float, end: float, reports: int
) -> tuple[int, list[Case]]:
    """Search with several processes at once; return how many stores, and what was found."""
    with ThreadPoolExecutor(workers) as pool:
        parts = [
            pool.submit(searched, seeds[first::workers], seconds, end, reports)
            for first in range(workers)
        ]
    results = [part.result() for part in parts]
    cases: dict[str, Case] = {}
    for _number, found in results:
        for case in found:
            known = cases.setdefault(case.violation.kind, Case(case.violation, []))
            known.seeds.extend(case.seeds)
    return sum(number for number, _found in results), list(cases.values())


def main() -> int:
    """Search, and print what was found; the exit code says whether anything was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--number", type=int, default=1000, help="of stores")
    parser.add_argument("--seed", type=int, default=0, help="of the first store")
    parser.add_argument("--seconds", type=float, default=inf, help="after which to stop")
    parser.add_argument("--limit", type=float, default=10, help="seconds that a store may take")
    parser.add_argument("--workers", type=int, default=1, help="processes at once")
    parser.add_argument("--effort", type=float, default=20, help="seconds to cut a store down")
    parser.add_argument("--reports", type=int, default=REPORTS, help="explain one store in so many")
    options = parser.parse_args()
    start = time.monotonic()
    seeds = range(options.seed, options.seed + options.number)
    end = start + options.seconds
    number, cases = searched_by_many(seeds, options.workers, options.limit, end, options.reports)
    print(f"{number} stores in {time.monotonic() - start:.0f} s, {len(cases)} findings")
    for case in sorted(cases, key=lambda case: -len(case.seeds)):
        print(f"\n{len(case.seeds):6}  {case.violation.kind}  seeds {sorted(case.seeds)[:5]}")
        print(case.violation.text)
        if options.effort:
            print(json.dumps(smallest(case, options.limit, options.effort)), flush=True)
    return bool(cases)


if __name__ == "__main__":
    sys.exit(main())
