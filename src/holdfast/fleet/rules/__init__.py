"""The pure rules of fleet: no I/O, no clock."""
