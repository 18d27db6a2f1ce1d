"""Verbs of the API, one per module, in the order of reference REQ-11.

Verbs read options, call the cache or the write path, and hand bytes to the edge; errors travel as StatusError.
"""
