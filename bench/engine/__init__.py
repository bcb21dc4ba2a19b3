"""How fast the engine moves no-op tasks, beside other task queues on the same machine.

Two kinds of process meet here. The runner lives in the project's own environment and
knows no peer library. Each measurement is a process in the environment of one peer,
so `figures`, `ticks`, `cpu`, `measure`, `worker` and `peers/` use nothing but the
standard library and the peer itself.
"""
