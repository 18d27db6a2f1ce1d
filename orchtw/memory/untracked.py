"""Objects that a search for reference cycles passes over (reference METRIC-7)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final


def _function() -> Callable[[Any], None]:
    try:
        found = ctypes.pythonapi.PyObject_GC_UnTrack
    except AttributeError:  # another interpreter than the usual one
        return lambda obj: None
    found.argtypes, found.restype = [ctypes.py_object], None
    return found


untrack: Final = _function()
"""Leave an object out of all searches: it must not be a part of a cycle while it lives long.

A search takes half a microsecond for each object whose memory is not in the processor's cache, and holds everything
up. Of a hundred thousand Pods, entries and events were all that one over everything had to look at: 90 ms.
"""
