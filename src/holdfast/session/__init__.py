"""What a session does, and the text that the next one starts from."""
