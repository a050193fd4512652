"""Codex: install, hook events, transcript, usage."""
