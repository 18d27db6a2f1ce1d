"""A server whose wall clock the test steps: `time.time` of the child adds what a shared file says."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from orchtw.testing.process import ServerProcess

# The child's program, before Twisted is imported: a look at shared memory costs less than a look at the clock.
_PROGRAM = """
import mmap, struct, sys, time
with open(sys.argv.pop(1), "rb") as file:
    offset = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)
true_time = time.time
time.time = lambda: true_time() + struct.unpack("d", offset)[0]
from twisted.scripts.twistd import run
run()
"""


class SteppedServer(ServerProcess):
    """A server with a wall clock of its own."""

    def set_clock(self, offset_s: float) -> None:
        """Put its wall clock that much before (or, negative, behind) the true time, from now on."""
        with open(self._offset_file(), "r+b") as file:
            file.write(struct.pack("d", offset_s))

    def _offset_file(self) -> Path:
        return self.data_dir.with_name(f"{self.data_dir.name}.clock")

    def _command(self) -> tuple[str, ...]:
        file = self._offset_file()
        file.write_bytes(struct.pack("d", 0.0))
        _, _, _, *arguments = super()._command()
        return (sys.executable, "-c", _PROGRAM, str(file), *arguments)
