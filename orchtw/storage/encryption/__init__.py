"""Encryption at rest: what lies in the store can be read with the keys of a file alone (reference STORE-14).

`configuration` reads the file, `transformer` picks who seals and who opens the values of a resource, and a module for
each provider does it.
"""
