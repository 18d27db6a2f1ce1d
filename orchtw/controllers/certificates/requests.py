"""Base of the controllers of CertificateSigningRequests."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.errors import NotFound
from orchtw.wire.objects import Object


class RequestController(Controller):
    """Keys are names of requests; each is looked at again whenever it changes.

    With `resync_s` all of them are seen again that often, each as its own successor.
    """

    account = "certificate-controller"

    def __init__(self, host: ControllerHost, concurrency: int, *, resync_s: float = 0.0) -> None:
        super().__init__(host, concurrency)
        self.group = host.naming.group("certificates.orch.io")
        self.requests = self.client.resource(self.group, "v1", "certificatesigningrequests")
        self._informer = Informer(self.client, self.requests, host.clock, host.random, host.turns, resync_s=resync_s)
        self._informer.handle(self.seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of requests."""
        return (self._informer,)

    def seen(self, old: Item | None, new: Item | None) -> None:
        """Have a request looked at; a subclass may be content with fewer."""
        if new is not None:
            self.queue.add(new.name)

    async def reconcile(self, key: str) -> float | None:
        """Look at one request, unless it is gone."""
        try:
            await self.look_at(key, await self.client.get(self.requests, "", key))
        except NotFound:  # before the look, or meanwhile
            return None
        return None

    @abstractmethod
    async def look_at(self, name: str, request: Object) -> None:
        """Do what is due to a request, as it is stored now; Retry: later."""
