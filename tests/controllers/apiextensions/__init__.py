"""Definitions: their names, their state, what is served by them, and their end."""
