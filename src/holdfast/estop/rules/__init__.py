"""The pure rules of estop: no I/O, no clock."""
