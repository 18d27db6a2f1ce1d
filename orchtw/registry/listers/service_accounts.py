"""Lister of service accounts: existence, and settings for pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.naming.naming import Naming
from orchtw.registry.listers.lister import CachedLister
from orchtw.registry.targets import Targets
from orchtw.wire.objects import Object

KEPT: Final = 4096
"""Accounts that are kept decoded, those of the last pods."""

_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))


class ServiceAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One account. `mounts` None: it does not say whether its pods get a token."""

    name: str
    secrets: frozenset[str] = frozenset()
    pull_secrets: Sequence[str] = ()
    mounts: bool | None = None
    limits_secrets: bool = False


def service_accounts(targets: Targets, naming: Naming) -> CachedLister[ServiceAccount]:
    """Return a lister of service accounts."""
    limits = f"{naming.label_domain}/enforce-mountable-secrets"
    stored = targets.stored_target("", "v1", "serviceaccounts").stored
    return CachedLister(stored, lambda stored, entry: _read(stored.load(entry), limits), KEPT)


def _read(account: Object, limits: str) -> ServiceAccount:
    meta = account["metadata"]
    return ServiceAccount(
        name=meta["name"],
        secrets=frozenset(each.get("name", "") for each in account.get("secrets") or ()),
        pull_secrets=tuple(each.get("name", "") for each in account.get("imagePullSecrets") or ()),
        mounts=account.get("automountServiceAccountToken"),
        limits_secrets=(meta.get("annotations") or {}).get(limits) in _TRUE,
    )
