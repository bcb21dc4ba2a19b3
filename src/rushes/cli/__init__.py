"""The command line: one file per group of commands, each importing what it needs when it runs."""
