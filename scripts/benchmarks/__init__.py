"""How engine xgroup compares with engine zarr: ``python -m scripts.benchmarks`` prints a table.

`stores` makes what is opened, `measure` takes times and memory, `figures` says what is compared
with what. They import each other relatively, as `scripts` is not a package but a folder.
"""
