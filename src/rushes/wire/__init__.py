"""How one Rushes asks another one: HTTP, and the errors that an answer stands for."""
