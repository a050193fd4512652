"""CCC: the four steps of a checkpoint, and resuming from it."""
