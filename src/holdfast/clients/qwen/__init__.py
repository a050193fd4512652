"""Qwen Code: install, hook events, transcript, usage."""
