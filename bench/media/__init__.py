"""How much work the media functions are, beside what people usually do, on the same machine.

Each part is a module with `run(rounds)`: it prints one table and returns its figures.
"""
