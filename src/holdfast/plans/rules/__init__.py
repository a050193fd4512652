"""Plans in waves: their files, what is wrong with them, in which order they run, and their runs."""
