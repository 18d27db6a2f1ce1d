"""Cleaner of generated token Secrets that nobody uses (reference CTRL-55)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final

from orchtw.authn.service_accounts.legacy_uses import invalid_since_label, last_used_label
from orchtw.authz.node_references import SECRETS, of_pod
from orchtw.bootstrap.legacy_tokens import SINCE, day, tracking_config_map
from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, ControllerHost
from orchtw.errors import Conflict, NotFound
from orchtw.responses.slices import Steps, in_turns
from orchtw.rules.delete_options import DeleteOptions
from orchtw.wire.objects import Object

PERIOD_S: Final = 24 * 3600.0
STRIDE: Final = 16  # pods read between two looks at the clock


class LegacyTokenCleaner(Controller):
    """Controller keyed by Secrets, `namespace/name`, each of which is looked at once a day.

    `unused_s` is the time without a use after which a token is marked invalid, and then that after which it goes.
    """

    name = "legacy-service-account-token-cleaner"
    account = "legacy-service-account-token-cleaner"

    def __init__(self, host: ControllerHost, unused_s: float) -> None:
        super().__init__(host, 1)
        naming = host.naming
        self._unused = timedelta(seconds=unused_s)
        self._secrets, self._accounts, self._pods, self._maps = (
            self.client.resource("", "v1", each) for each in ("secrets", "serviceaccounts", "pods", "configmaps")
        )
        self._tracking = naming.system_namespace, tracking_config_map(naming)
        self._type = naming.service_account_token_type
        self._account_of, self._uid_of = naming.service_account_name_annotation, naming.service_account_uid_annotation
        self._last_used, self._invalid_since = last_used_label(naming), invalid_since_label(naming)
        self._informer = Informer(self.client, self._secrets, host.clock, host.random, host.turns, resync_s=PERIOD_S)
        self._informer.handle(self._seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informer of Secrets."""
        return (self._informer,)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        """Look at what was there at the start, and at everything in each period; no change makes it older."""
        if new is not None and (old is None or old is new):
            self.queue.add(new.key)

    async def reconcile(self, key: str) -> float | None:
        """Mark the token of a Secret invalid, or delete the Secret, if its time has come."""
        item = self._informer.items.get(key)
        if item is None:
            return None
        secret = item.load()
        now = datetime.fromtimestamp(self.host.now(), UTC)
        if not self._is_unused(secret, now) or not await self._tracked_long(now):
            return None
        if await self._is_generated(secret) and not await self._is_mounted(secret):
            await self._retire(secret, now)
        return None

    def _is_unused(self, secret: Object, now: datetime) -> bool:
        """Report whether it is a token Secret that was neither made nor used in the period; if in doubt, it was."""
        meta = secret["metadata"]
        if secret.get("type") != self._type or meta.get("deletionTimestamp"):
            return False
        limit = now - self._unused
        if datetime.fromisoformat(meta["creationTimestamp"]) >= limit:
            return False
        labels = meta.get("labels") or {}
        if self._last_used not in labels:
            return True
        used = day(labels[self._last_used])
        return used is not None and used < limit.date()

    async def _tracked_long(self, now: datetime) -> bool:
        """Report whether uses have been tracked for the whole period; the day on which that began does not count."""
        try:
            found = await self.client.get(self._maps, *self._tracking)
        except NotFound:
            return False
        since = day((found.get("data") or {}).get(SINCE, ""))
        return since is not None and since < (now - self._unused).date()

    async def _is_generated(self, secret: Object) -> bool:
        """Report whether the account that the Secret is of lists it: users' own Secrets are not listed."""
        meta = secret["metadata"]
        annotations = meta.get("annotations") or {}
        try:
            account = await self.client.get(self._accounts, meta["namespace"], annotations.get(self._account_of, ""))
        except NotFound:
            return False
        if annotations.get(self._uid_of) not in (None, "", account["metadata"]["uid"]):
            return False
        return any(each.get("name") == meta["name"] for each in account.get("secrets") or ())

    async def _is_mounted(self, secret: Object) -> bool:
        """Report whether a pod refers to the Secret."""
        meta = secret["metadata"]
        wanted = SECRETS, meta["namespace"], meta["name"]
        pods = (await self.client.list(self._pods, meta["namespace"])).items

        def steps() -> Steps[bool]:
            for start in range(0, len(pods), STRIDE):
                if any(wanted in of_pod(pod.load()) for pod in pods[start : start + STRIDE]):
                    return True
                yield
            return False

        return await in_turns(self.host.turns, steps())

    async def _retire(self, secret: Object, now: datetime) -> None:
        """Mark the token invalid since today; delete the Secret if it was marked before the period."""
        meta = secret["metadata"]
        place = self._secrets, meta["namespace"], meta["name"]
        since = day((meta.get("labels") or {}).get(self._invalid_since, ""))
        with suppress(NotFound, Conflict):  # it has changed since: the next period's
            if since is None:
                labels = {self._invalid_since: f"{now:%Y-%m-%d}"}
                await self.client.patch(*place, {"metadata": {"uid": meta["uid"], "labels": labels}})
            elif since < (now - self._unused).date():
                as_seen = DeleteOptions(precondition_uid=meta["uid"], precondition_version=meta["resourceVersion"])
                await self.client.delete(*place, as_seen)
