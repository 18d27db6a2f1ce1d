"""Bootstrap signer: signs the cluster's public data once for each bootstrap token (reference AUTHN-45)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twisted.internet.task import deferLater

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost, Published
from orchtw.rules.bootstrap_tokens import PREFIX, SECRET_TYPE, TokenSecret
from orchtw.rules.detached_signature import detached_signature
from orchtw.wire.objects import Object

CONFIG_MAP: Final = "cluster-info"
CONTENT: Final = "kubeconfig"
SIGNATURE: Final = "jws-kubeconfig-"
LONGEST_S: Final = 24 * 3600.0
"""Longest time between two looks while tokens are yet to expire."""

SLICE: Final = 1 << 20
"""Characters that are signed at once, in some milliseconds."""

SYNC_S: Final = 1.0
"""Seconds until the next attempt while not all Secrets have been seen."""


class BootstrapSigner(Controller):
    """Controller with one key, that of the ConfigMap."""

    name = "bootstrapsigner"
    account = "bootstrap-signer"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, 1)
        self._config_maps = self.client.resource("", "v1", "configmaps")
        self._namespace = host.naming.public_namespace
        self._type = host.naming.translate(SECRET_TYPE)
        secrets = self.client.resource("", "v1", "secrets")
        self._info = Informer(self.client, self._config_maps, host.clock, host.random, host.turns, name=CONFIG_MAP)
        self._secrets = Informer(self.client, secrets, host.clock, host.random, host.turns)
        self._info.handle(self._info_seen)
        self._secrets.handle(self._secret_seen)
        self._tokens: dict[str, TokenSecret] = {}

    @property
    def sources(self) -> Sequence[Informer]:
        """Secrets first, so that nothing that is still good is taken away at the start."""
        return (self._secrets, self._info)

    def _info_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None and new.namespace == self._namespace:
            self.queue.add(CONFIG_MAP)

    def _secret_seen(self, old: Item | None, new: Item | None) -> None:
        """Keep what the tokens' Secrets say at present."""
        item = new or old
        assert item is not None
        if item.namespace != self.host.naming.system_namespace or not item.name.startswith(PREFIX):
            return
        known = self._tokens.pop(item.name, None)
        if new is not None and (secret := new.load()).get("type") == self._type:
            self._tokens[item.name] = TokenSecret.of(secret)
        if known != self._tokens.get(item.name):
            self.queue.add(CONFIG_MAP)

    async def reconcile(self, key: str) -> float | None:
        """Have the ConfigMap hold the signatures of the tokens that are good now; returns when one ends to be."""
        item = self._info.items.get(f"{self._namespace}/{CONFIG_MAP}")
        if not self.synced:
            return SYNC_S
        if item is None:
            return None
        info, now = item.load(), self.host.now()
        content = (info.get("data") or {}).get(CONTENT)
        if content is None:
            return None
        changes = self._changes(info["data"], await self._signatures(content, now))
        if changes:
            meta = {"resourceVersion": info["metadata"]["resourceVersion"]}
            patch = {"metadata": meta, "data": changes}
            wanted = Published(self._namespace, CONFIG_MAP, [info["metadata"]["uid"], changes])
            wait_s = await self.publish(
                self._config_maps, wanted, info,
                lambda: self.client.patch(self._config_maps, self._namespace, CONFIG_MAP, patch),
            )  # fmt: skip
            if wait_s is not None:
                return wait_s
        ends = [left for each in self._tokens.values() if (left := each.left_s(now)) is not None and left > 0]
        return min(LONGEST_S, *ends) if ends else None

    async def _signatures(self, content: str, now: float) -> dict[str, str]:
        """Return the signatures that should exist, yielding to the reactor after each SLICE characters."""
        made: dict[str, str] = {}
        done = 0
        for each in [token for token in self._tokens.values() if token.signs(now)]:
            if done > SLICE:
                await deferLater(self.host.clock, 0)
                done = 0
            key = self.host.naming.signing_key(each.token_id, each.token_secret)
            made[SIGNATURE + each.token_id] = detached_signature(content, each.token_id, key)
            done += len(content)
        return made

    @staticmethod
    def _changes(data: Object, wanted: dict[str, str]) -> Object:
        """Return the changes as a merge patch."""
        stale = {name: None for name in data if name.startswith(SIGNATURE) and name not in wanted}
        return {**stale, **{name: text for name, text in wanted.items() if data.get(name) != text}}
