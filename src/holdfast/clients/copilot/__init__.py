"""Copilot CLI: install, hook events, transcript, usage."""
