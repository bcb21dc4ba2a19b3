"""How the program is watched, and how tests interfere with it."""
