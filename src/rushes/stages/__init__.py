"""The code of each kind of task: params in, result out; never a database."""
