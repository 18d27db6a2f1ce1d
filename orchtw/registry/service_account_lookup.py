"""Lookup of service accounts: existence, and settings for pods."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final

import attrs

from orchtw.naming.names import Naming
from orchtw.registry.targets import Targets
from orchtw.storage.freshness import MOST_RECENT
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object

KEPT: Final = 4096
"""Accounts that are kept decoded, those of the last pods."""

_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))


@attrs.frozen(slots=True, kw_only=True)
class ServiceAccount:
    """One account. `mounts` None: it does not say whether its pods get a token."""

    name: str
    secrets: frozenset[str] = frozenset()
    pull_secrets: Sequence[str] = ()
    mounts: bool | None = None
    limits_secrets: bool = False


class ServiceAccounts:
    """Looks accounts up in their cache; each is read once for each of its versions."""

    def __init__(self, targets: Targets, naming: Naming) -> None:
        self._stored = targets.stored_target("", "v1", "serviceaccounts").stored
        self._limits = f"{naming.label_domain}/enforce-mountable-secrets"
        self._known: dict[str, tuple[Entry, ServiceAccount]] = {}

    def due(self) -> Awaitable[None] | None:
        """Return what to await before an account counts as missing, or None."""
        return self._stored.cache.freshness.due(MOST_RECENT)

    def find(self, namespace: str, name: str) -> ServiceAccount | None:
        """The account, or None."""
        entry = self._stored.get(namespace, name)
        if entry is None:
            return None
        known = self._known.get(entry.key)
        if known is None or known[0] is not entry:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[entry.key] = entry, self._read(self._stored.load(entry))
        return known[1]

    def _read(self, account: Object) -> ServiceAccount:
        meta = account["metadata"]
        return ServiceAccount(
            name=meta["name"],
            secrets=frozenset(each.get("name", "") for each in account.get("secrets") or ()),
            pull_secrets=tuple(each.get("name", "") for each in account.get("imagePullSecrets") or ()),
            mounts=account.get("automountServiceAccountToken"),
            limits_secrets=(meta.get("annotations") or {}).get(self._limits) in _TRUE,
        )
