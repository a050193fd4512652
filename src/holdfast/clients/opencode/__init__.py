"""Opencode: install, hook events, transcript, usage."""
