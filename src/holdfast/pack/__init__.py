"""The text that the next session reads."""
