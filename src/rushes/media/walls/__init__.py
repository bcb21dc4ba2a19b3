"""How a program is shut in: what it may see and use, and who ends it. `sandbox.py` uses them."""
