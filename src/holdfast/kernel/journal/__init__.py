"""The journal: one interface; stores in SQLite, in PostgreSQL and in memory."""
