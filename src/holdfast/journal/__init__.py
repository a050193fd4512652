"""The journal: one interface; stores in SQLite and in PostgreSQL."""
