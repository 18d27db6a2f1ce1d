"""Listers: readers of other kinds' objects in the caches, for admission and controllers that depend on them.

A write asks them many times a second, so that each object is read once for each of its versions.
"""
