"""Embedded store: one SQLite file with a writer thread, reader threads and background upkeep.

`store.SqliteStore` implements the `Store` contract; the other modules are its parts and the tools of `orch-store`.
"""
