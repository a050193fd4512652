"""What happened while the person was away."""
