"""Git: where the work stands, the commit of a checkpoint, and snapshots of the whole work tree."""
