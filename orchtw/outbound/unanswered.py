"""Requests that were sent and have no answer."""

from __future__ import annotations


class Lost(Exception):
    """The answer has not come, or not as a whole; the text says why, in the reference server's words."""


class Stale(Lost):
    """A kept connection was closed before any of the answer came: most likely before the request was read."""
