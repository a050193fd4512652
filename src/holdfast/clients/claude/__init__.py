"""Claude Code: settings, hook events, sessions and what they spend, transcript."""
