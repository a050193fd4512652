"""The pure rules of answers: no I/O, no clock."""
