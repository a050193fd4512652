"""The pure rules of the person's channel."""
