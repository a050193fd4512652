"""Gemini: install, hook events, transcript, usage."""
