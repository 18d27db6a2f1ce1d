"""Reactor side of the change feed: its live subscribers, and the catch-up of new ones without gap or duplicate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from twisted.logger import Logger

from orchtw import errors
from orchtw.storage.store import Change, Subscription

Deliver = Callable[[Sequence[Change]], None]
History = Callable[[int, int], Awaitable[Sequence[Change]]]


class Follower(Subscription):
    """One live subscriber of a `Feed`."""

    def __init__(self, feed: Feed, deliver: Deliver) -> None:
        self._feed: Feed | None = feed
        self._deliver = deliver

    def take(self, changes: Sequence[Change]) -> None:
        """Pass `changes` on, unless stopped meanwhile."""
        if self._feed is not None:
            self._deliver(changes)

    def stop(self) -> None:
        """End the subscription, as `Subscription.stop`."""
        if self._feed is not None:
            self._feed.forget(self)
            self._feed = None


class Feed:
    """Feed that gives every follower each Change once, in order. `revision` is that of the last batch."""

    _log = Logger()

    def __init__(self) -> None:
        self.revision = 0
        self._live: list[Follower] = []

    def publish(self, changes: Sequence[Change]) -> None:
        """Give a committed, non-empty batch to all live followers.

        A follower that raises is logged and stays subscribed: it must not cost the others their changes.
        """
        self.revision = changes[-1].revision
        for follower in tuple(self._live):
            try:
                follower.take(changes)
            except Exception:  # noqa: BLE001 - a subscriber's bug is logged
                self._log.failure("a subscriber failed at revision {revision}", revision=self.revision)

    async def follow(self, after: int, deliver: Deliver, history: History) -> Follower:
        """Deliver what `history(after, upto)` holds up to now, then go live; returns when live.

        `history` answers a leading part of the range, nothing only when the range has no change. Raises
        Timeout (504) for a revision to come and whatever `history` raises.
        """
        if after > self.revision:
            raise errors.Timeout.future_version(after, self.revision)
        follower = Follower(self, deliver)
        while after < (upto := self.revision):
            changes = await history(after, upto)
            if changes:
                follower.take(changes)
            after = changes[-1].revision if changes else upto
        # No await since `revision` was read: the next batch published is the one after `after`.
        self._live.append(follower)
        return follower

    def forget(self, follower: Follower) -> None:
        """Take `follower` off the list; one that is not on it is fine."""
        if follower in self._live:
            self._live.remove(follower)
