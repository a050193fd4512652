"""The rules of undo."""
