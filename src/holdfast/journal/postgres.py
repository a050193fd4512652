"""The journal in PostgreSQL, for agents on several machines. Loaded only when a URL says so."""
