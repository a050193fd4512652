"""The pure rules of a graph's thread: no I/O, no clock."""
