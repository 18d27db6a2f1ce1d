"""Controller greeter: every namespace has a ConfigMap that says hello."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.errors import NotFound
from orchtw.plugins import ControllerPlugin

NAME = "hello"


class Greeter(Controller):
    """Makes the ConfigMaps that are missing. Keys are names of namespaces."""

    name = "greeter"
    account = "greeter-controller"

    def __init__(self, host: ControllerHost, concurrency: int = 1) -> None:
        super().__init__(host, concurrency)
        namespaces = self.client.resource("", "v1", "namespaces")
        self._maps = self.client.resource("", "v1", "configmaps")
        self._informer = Informer(self.client, namespaces, host.clock, host.random, host.turns)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """The informer of namespaces."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None:
            self.queue.add(new.name)

    async def reconcile(self, key: str) -> float | None:
        """Make the ConfigMap of a namespace unless there is one."""
        try:
            await self.client.get(self._maps, key, NAME)
        except NotFound:
            body = {"metadata": {"name": NAME}, "data": {"text": f"hello, {key}"}}
            await self.client.create(self._maps, key, body)
        return None


def make(host: ControllerHost, values: Mapping[str, Any]) -> Greeter:
    """Return the controller, which needs no settings."""
    return Greeter(host)


GREETER = ControllerPlugin(make=make, by_name_only=True)
