"""Budgets at work: where the limits and the values come from, the stop that holds, and its files."""
