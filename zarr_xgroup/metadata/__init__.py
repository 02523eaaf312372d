"""Metadata as JSON: documents, nodes and references.

This package uses neither zarr nor xarray, and does no I/O.
"""
