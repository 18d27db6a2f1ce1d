"""`python -m orchtw.testing.child_main PARENT FOLDER FLAGS…`: the server as a child of a test process.

PARENT is the process id of that. If it is gone when the server ends, as after a kill, the server removes the folder
in its place; the folder may be empty, for one that stays.
"""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import sys
from pathlib import Path
from typing import Final

_FLAGS: Final = 6  # of the fields behind the name in /proc/PID/stat
_PF_EXITING: Final = 0x4


def main(arguments: list[str]) -> None:
    """Run the server until it is told to stop, or its standard input ends."""
    gc.disable()  # what is imported stays; the server enables it when it is ready
    parent, folder, *flags = arguments
    if folder:
        atexit.register(_clean_up, int(parent), folder)
    from orchtw.assembly.foreground import run_in_foreground

    run_in_foreground(["--stop-at-eof", *flags])


def _clean_up(parent: int, folder: str) -> None:
    if os.getppid() != parent or _is_exiting(parent):
        shutil.rmtree(folder, ignore_errors=True)


def _is_exiting(pid: int) -> bool:
    """Report whether a process is on its way out: a killed one closes its files before it leaves its children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # other systems than Linux
        return False
    return bool(int(fields[_FLAGS]) & _PF_EXITING)


if __name__ == "__main__":
    main(sys.argv[1:])
