"""Notes: the smallest stream, and the example to copy."""
