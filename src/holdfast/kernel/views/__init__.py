"""Views: files in a protocol's own format, written from a stream's state, editable by anyone."""
