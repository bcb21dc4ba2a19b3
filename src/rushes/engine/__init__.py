"""Moves tasks; knows no video. Every function here is one transaction on the store."""
