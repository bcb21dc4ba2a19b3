"""Runs stages: claims tasks, runs them in slots, reports what came of them."""
