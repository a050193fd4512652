"""Hooks: what agents' clients start, many times a minute. Nothing heavy is imported here."""
