"""A log that is followed: new lines as they come, until the container ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchtw.simulation.agent.logs import Options, Run, Unavailable, lines, run_of, selected, shown
from orchtw.wire.objects import Object

LOOK_S: Final = 0.25
"""Real seconds between two looks."""

FindPod = Callable[[str, str], Awaitable[Object | None]]
"""Returns a pod by namespace and name as it is now, or None."""


class LogFollower:
    """Follows one run of a container; `send` passes on bytes, `is_paused` says that the client does not read."""

    def __init__(
        self, find: FindPod, reactor: IReactorTime, now: Callable[[], float], send: Callable[[bytes], None],
        is_paused: Callable[[], bool],
    ) -> None:
        self._find = find
        self._reactor = reactor
        self._now = now
        self._send = send
        self._is_paused = is_paused

    async def follow(self, pod: Object, run: Run, options: Options) -> None:
        """Send the lines that there are, then each new one; return when the container has ended."""
        left = options.limit_bytes
        meta = pod["metadata"]
        seen, found = self._now(), selected(run, options, self._now())
        while True:
            data = shown(found, Options(timestamps=options.timestamps, limit_bytes=left))
            if data:
                self._send(data)
            if left is not None:
                left -= len(data)
            if run.ended_at is not None or left == 0:
                return
            await deferLater(self._reactor, LOOK_S)
            while self._is_paused():
                await deferLater(self._reactor, LOOK_S)
            run = await self._again(meta, run)
            now = self._now()
            found = [each for each in lines(run, now, seen) if seen < each[0]]
            seen = now

    async def _again(self, meta: Object, run: Run) -> Run:
        """Return the run as it is now; once another one has begun, or the pod is gone, it has ended."""
        pod = await self._find(meta["namespace"], meta["name"])
        ended = Run(
            pod=run.pod, container=run.container, plan=run.plan, attempt=run.attempt, started_at=run.started_at,
            ended_at=self._now(),
        )
        if pod is None or pod["metadata"]["uid"] != meta["uid"]:
            return ended
        try:
            found = run_of(pod, run.container)
        except Unavailable:
            return ended
        return found if found.attempt == run.attempt else ended


def started(work: Awaitable[None], failed: Callable[[BaseException], None]) -> Deferred[None]:
    """Run in the background; `failed` gets what it raises, except for its cancellation."""

    async def run() -> None:
        try:
            await work
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001 - passed on
            failed(error)

    return Deferred.fromCoroutine(run())
