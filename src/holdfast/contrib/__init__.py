"""What needs another package, or is for one: each in a folder of its own, loaded when it is asked for."""
