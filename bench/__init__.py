"""Benchmarks: Rushes side by side with its peers, one package per benchmark."""
