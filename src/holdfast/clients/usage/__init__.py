"""What agents spend, read from what their clients write down; one module a client."""
