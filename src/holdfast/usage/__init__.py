"""What sessions spend: tokens, money, quotas and limits."""
