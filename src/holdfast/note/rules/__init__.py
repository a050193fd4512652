"""The pure rules of note: no I/O, no clock."""
