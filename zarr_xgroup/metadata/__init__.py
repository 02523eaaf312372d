"""Metadata as JSON: documents, nodes, references and what is known of a store.

Knows neither zarr nor xarray, and does no I/O.
"""
