"""Encryption at rest: stored values can be read only with the keys of a file (reference STORE-14).

`configuration` reads the file, `transformer` selects the providers of a resource, and each provider has a module.
"""
