"""Listers of the objects that service account tokens depend on."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from typing import Final

import msgspec

from orchtw.registry.listers.lister import CachedLister, Lister, StoredLister
from orchtw.registry.stored import Stored
from orchtw.registry.targets import Targets
from orchtw.values.times import parse_time
from orchtw.watch.entry import Entry

GRACE_S: Final = 60
"""Time after its deletion timestamp in which an object still validates its tokens, so that a pod can shut down."""

KEPT: Final = 4096
"""Objects of a kind that are kept as they were read: as many as verified tokens."""


class Bearer(msgspec.Struct, frozen=True, eq=False):
    """One version of an object that tokens refer to: its uid, and when its tokens become invalid.

    `ends` is in seconds since the epoch; 0: never.
    """

    uid: str
    ends: float


class TokenObjects(msgspec.Struct, frozen=True):
    """Listers of the objects that tokens refer to.

    `bearers` has one for each resource, which returns the same value as long as the object is unchanged. `in_secrets`
    returns the token that a Secret holds; such tokens are not kept.
    """

    bearers: Mapping[str, Lister[Bearer]]
    in_secrets: Lister[bytes]

    @classmethod
    def of(cls, targets: Targets) -> TokenObjects:
        """Return the listers of the server's service accounts, Secrets, pods and nodes."""
        plurals = ("serviceaccounts", "secrets", "pods", "nodes")
        kinds = {plural: targets.stored_target("", "v1", plural).stored for plural in plurals}
        bearers = {plural: CachedLister(stored, _bearer, KEPT) for plural, stored in kinds.items()}
        return cls(bearers, StoredLister(kinds["secrets"], _token))


def _bearer(stored: Stored, entry: Entry) -> Bearer:
    meta = stored.metadata(entry, owned=False)
    deleted = meta.get("deletionTimestamp")
    return Bearer(str(meta.get("uid", "")), parse_time(deleted)[0] + float(GRACE_S) if deleted else 0.0)


def _token(stored: Stored, entry: Entry) -> bytes:
    return b64decode((stored.load(entry).get("data") or {}).get("token", ""))
