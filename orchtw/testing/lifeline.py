"""Pipes whose end tells a child process that this process has ended, however it ended.

The other end is held by no one else: it is closed at an exec, and at a fork of this process, as by `multiprocessing`.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

_lock = threading.Lock()


class Lifeline:
    """One pipe. `child_end` becomes the child's standard input."""

    def __init__(self) -> None:
        # Under the lock, so that no fork comes between the pipe and its entry.
        with _lock:
            self.child_end, self._own_end = os.pipe()  # neither is inherited at an exec
            _open.add(self)

    def handed_over(self) -> None:
        """Close the child's end here: the child has it."""
        os.close(self.child_end)

    def cut(self) -> None:
        """Close the pipe, at which the child ends. A forked process has no end of it any more."""
        with _lock:
            if self in _open:
                _open.remove(self)
                os.close(self._own_end)

    def forget(self) -> None:
        """Close this process's copy of the end, which a fork has made."""
        with suppress(OSError):
            os.close(self._own_end)


_open: set[Lifeline] = set()


def _in_child() -> None:
    for each in _open:
        each.forget()
    _open.clear()
    _lock.release()


os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_in_child)
