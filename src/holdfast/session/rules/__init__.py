"""The pure rules of session: no I/O, no clock."""
