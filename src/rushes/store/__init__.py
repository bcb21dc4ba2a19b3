"""Rows in and out: the only folder that knows SQL, SQLite and PostgreSQL."""
