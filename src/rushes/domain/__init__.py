"""The rules, pure: no database, no clock, no files. Read `task.py` first."""
