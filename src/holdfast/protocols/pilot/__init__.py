"""PILOT: people's gates, budgets that really stop, triggers, plans in waves."""
