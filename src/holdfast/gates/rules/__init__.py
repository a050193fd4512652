"""The pure rules of gates: no I/O, no clock."""
