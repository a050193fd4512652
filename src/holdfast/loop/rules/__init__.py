"""The pure rules of loop: no I/O, no clock."""
