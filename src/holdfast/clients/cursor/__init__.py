"""Cursor: its hook events, which come in Claude Code's words."""
