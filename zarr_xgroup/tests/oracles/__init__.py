"""Independent implementations of the conventions (oracles), and tests that compare the package with them.

The oracles do not import the package.
"""
