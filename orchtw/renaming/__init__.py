"""Stored objects of one vocabulary in the names of the other: what kind of identifier stands where, and its name.

Pure: canonical dicts and strings come in and go out; nothing is searched in free text. `registry.rewriting` makes of
it what the store runs once, when it is opened under another vocabulary.
"""
