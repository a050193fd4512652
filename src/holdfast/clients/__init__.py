"""The agents' clients: one folder each."""
