"""The person's channel: who may decide, and how that is known."""
