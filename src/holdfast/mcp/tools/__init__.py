"""One tool, one file. Each calls what the verb of the same name calls."""
