"""What runs inside the sandbox and nowhere else: all that opens a foreign file in Python.

`sandbox.call` names a function of these modules; `entry.py` runs it. Nothing outside this folder
may import from it, and import-linter sees to that: a parser that is tricked is tricked in a child.
"""
