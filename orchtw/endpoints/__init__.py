"""Answers that are not about objects: discovery, health, version."""
