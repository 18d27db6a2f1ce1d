"""Patches, managed fields and server-side apply as pure functions on objects; no I/O, no HTTP."""
