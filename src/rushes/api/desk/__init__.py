"""What somebody may ask for, and what they are answered, whichever door they come through."""

from rushes.api.desk.desk import Desk

__all__ = ["Desk"]
