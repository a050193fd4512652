"""What a session did, read from its client's transcript: events, fold, model."""
