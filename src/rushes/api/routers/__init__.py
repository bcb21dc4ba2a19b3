"""One file per noun: parse, call the desk, present."""
