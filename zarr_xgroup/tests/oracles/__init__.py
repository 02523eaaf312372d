"""Readings of the conventions' texts, written apart from the package, and what compares the two.

A module without `test_` in its name imports nothing of the package, of which it knows nothing.
"""
