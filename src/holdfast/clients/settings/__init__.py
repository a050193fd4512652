"""Settings: install, hook events, transcript, usage."""
