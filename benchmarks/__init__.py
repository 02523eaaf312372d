"""How long opening takes: ``python -m benchmarks`` compares engine xgroup with engine zarr."""
