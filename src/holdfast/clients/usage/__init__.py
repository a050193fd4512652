"""What agents spend: messages, totals and prices, read from what their clients write down."""
