"""All I/O: opening and reading stores, and the limits for foreign stores."""
