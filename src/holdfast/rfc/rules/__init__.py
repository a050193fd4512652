"""RFC: keep the reasoning across phase boundaries within a line budget. Pure rules, no I/O."""
