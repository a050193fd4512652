"""The kernel: the journal, its views, and the one path by which anything is written."""
