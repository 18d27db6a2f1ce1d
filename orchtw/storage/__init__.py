"""Where objects are kept: the Store interface, its backends, the cache over it and the conformance tests.

No API rules live here: a store knows keys, bytes and revisions. Backends are named below by import path, so that only
the chosen one is loaded (`twisted.python.reflect.namedAny`).
"""

STORES = {"sqlite": "orchtw.storage.sqlite.SqliteStore"}
