"""Prompt ends of the drop-ins: within a second of a stop, and soon after the suite that started them.

A suite that is killed stops nothing, and Go passes its children no input whose end would tell them.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from threading import Thread
from typing import Any, Final

LOOK_S: Final = 0.2
"""Interval between looks at the parent."""

LEAVE_S: Final = 0.6
"""Time for an orderly stop. What is in flight then is cut: suites wait for the end, and kill after a few seconds."""


def end_with_parent(
    *,
    parent: Callable[[], int] = os.getppid,
    sleep: Callable[[float], None] = time.sleep,
    end: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGTERM),
) -> Thread:
    """Call `end`, which stops this process, when the process that started it has ended.

    An orphan gets another parent. That of a process started by hand in the background of a shell ends with the shell.
    """
    first = parent()

    def wait() -> None:
        while parent() == first:
            sleep(LOOK_S)
        end()

    return _started(wait, "parent")


def leave_soon(
    sleep: Callable[[float], None] = time.sleep, leave: Callable[[int], Any] = os._exit
) -> Thread:
    """End this process shortly, whatever it still waits for; the store loses nothing by that."""

    def wait() -> None:
        sleep(LEAVE_S)
        leave(0)

    return _started(wait, "end")


def _started(work: Callable[[], None], name: str) -> Thread:
    thread = Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread
