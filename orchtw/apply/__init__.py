"""Changes to objects as data: patches, and (with managed fields) server-side apply; no I/O, no HTTP."""
