"""The tools. Each calls the operation that the verb of the same name calls."""
