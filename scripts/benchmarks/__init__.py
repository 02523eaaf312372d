"""Comparison of engine xgroup with engine zarr: ``python -m scripts.benchmarks`` prints a table.

`stores` builds the stores, `measure` measures time and memory, `figures` defines the comparisons.
They use relative imports because `scripts` is a folder, not a package.
"""
