"""Tracks in their folders: the lock that others take too, the commands, the side file, the runs."""
