"""Trackers: the port, Linear and GitHub, against servers that answer from the vendors' schemas."""
