"""The HTTP API. Thin: parse, call, present."""
