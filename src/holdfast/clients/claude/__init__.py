"""Claude: install, hook events, transcript, usage."""
