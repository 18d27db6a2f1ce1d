"""Encryption at rest: stored values can be read only with the keys of a file (reference STORE-14).

`configuration` reads the file, `transformer` picks the providers of a resource, and a module for
each provider does it.
"""
