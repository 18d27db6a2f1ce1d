"""Error of a call to a server in a child process that has ended by itself."""

from __future__ import annotations

from orchtw.testing.start_failed import LAST_LINES


class ServerDied(ConnectionError):
    """Error: the server's process has ended. `status` is its exit status, negative for a signal; `log` is its log."""

    def __init__(self, status: int, log: str) -> None:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        last_words = "\n".join(log.splitlines()[-LAST_LINES:])
        super().__init__(f"the server has ended ({how}): {last_words}")
        self.status = status
        self.log = log
