"""The emergency stop."""
