"""How engine xgroup compares with engine zarr: ``python -m benchmarks`` prints a table.

`stores` makes what is opened, `measure` takes times and memory, `figures` says what is compared
with what; ``python -m benchmarks`` and asv (`bench_open`) share these.
"""
