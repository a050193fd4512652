"""The journal: one interface, one store in SQLite, one in memory."""
