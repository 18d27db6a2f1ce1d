"""Quota arithmetic: amounts, usage of objects, scopes, quotas and limit ranges.

Nothing here does I/O. The admission plugin charges writes and the controller recounts usage; both use this package.
"""
