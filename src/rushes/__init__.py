"""Rushes: footage in; streamable, searchable, clippable video out."""

__version__ = "0.1.0"
