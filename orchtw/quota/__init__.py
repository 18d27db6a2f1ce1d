"""Quota arithmetic: amounts, usage of objects, scopes, quotas and limit ranges.

Nothing here does I/O. The admission plugin charges writes, the controller recounts; both measure with these.
"""
