"""Token cleaner: deletes Secrets of expired bootstrap tokens (reference AUTHN-46)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.errors import Conflict, NotFound
from orchtw.rules.bootstrap_tokens import SECRET_TYPE, TokenSecret
from orchtw.rules.delete_options import DeleteOptions

LONGEST_S: Final = 24 * 3600.0
"""Longest time between two looks at a Secret that is yet to expire."""


class TokenCleaner(Controller):
    """Controller keyed by names of Secrets in the system's namespace."""

    name = "tokencleaner"
    account = "token-cleaner"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, 1)
        self._secrets = self.client.resource("", "v1", "secrets")
        self._namespace = host.naming.system_namespace
        self._type = host.naming.translate(SECRET_TYPE)
        self._informer = Informer(self.client, self._secrets, host.clock, host.random, host.turns)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of Secrets."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and new.namespace == self._namespace:
            self.queue.add(new.name)

    async def reconcile(self, key: str) -> float | None:
        """Delete the Secret if its token has expired, else come back when it has."""
        item = self._informer.items.get(f"{self._namespace}/{key}")
        if item is None:
            return None
        secret = item.load()
        if secret.get("type") != self._type or secret["metadata"].get("deletionTimestamp"):
            return None
        left_s = TokenSecret.of(secret).left_s(self.host.now())
        if left_s is None:
            return None
        if left_s > 0:
            return min(left_s, LONGEST_S)
        options = DeleteOptions(precondition_uid=secret["metadata"]["uid"])
        try:
            await self.client.delete(self._secrets, self._namespace, key, options)
        except (NotFound, Conflict):
            pass  # another one has deleted it
        return None
