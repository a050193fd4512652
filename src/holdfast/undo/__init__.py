"""Undo: take back what a prompt of any client changed in the work tree."""
