"""Clock in the place of a reactor, for servers in a process without one."""

from __future__ import annotations

from twisted.internet.task import Clock


class HostClock(Clock):
    """A clock that a server can ask to end the process."""

    def stop(self) -> None:
        raise AssertionError("the server ends the process")
