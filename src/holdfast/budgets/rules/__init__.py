"""The pure rules of budgets: no I/O, no clock."""
