"""Tracking of tokens kept in Secrets: since when it goes on, and the labels of their uses (reference AUTHN-65)."""

from __future__ import annotations

from datetime import UTC, date, datetime

from orchtw.authn.service_accounts.legacy_uses import TokenUse, last_used_label
from orchtw.bootstrap.ensurer import Ensurer
from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

SINCE = "since"


def tracking_config_map(naming: Naming) -> str:
    """Return the name of the ConfigMap in the system namespace that says since when uses are tracked."""
    return f"{naming.api_server}-legacy-service-account-token-tracking"


class LegacyTokenTracking:
    """The server's own writes for the tracking. Where it is not `on`, no uses are noted and no date is kept."""

    def __init__(self, ensurer: Ensurer, *, on: bool) -> None:
        self._ensurer = ensurer
        self._on = on
        self._removed = False

    async def look(self) -> None:
        """Make the ConfigMap, or repair its date; remove it once if uses are not tracked. Raises StatusError.

        The date of an earlier tracking must not stay: uses since then have left no trace.
        """
        naming = self._ensurer.naming
        name, namespace = tracking_config_map(naming), naming.system_namespace
        if self._on:
            today = datetime.fromtimestamp(self._ensurer.writes.now(), UTC)
            made = {"metadata": {"name": name, "namespace": namespace}, "data": {SINCE: f"{today:%Y-%m-%d}"}}
            await self._ensurer.complete("", "v1", "configmaps", made, _dated)
        elif not self._removed:
            await self._ensurer.remove("", "v1", "configmaps", name, _is_tracking, namespace)
            self._removed = True

    async def mark(self, use: TokenUse) -> None:
        """Label a Secret with the date of its token's use, unless it is gone or another one. Raises StatusError."""
        label = last_used_label(self._ensurer.naming)
        place = {"name": use.secret, "namespace": use.namespace}

        def change(live: Object) -> Object | None:
            meta = live["metadata"]
            if meta["uid"] != use.uid:
                return None
            labels = {**(meta.get("labels") or {}), label: use.date}
            return {**live, "metadata": {**meta, "labels": dict(sorted(labels.items()))}}

        await self._ensurer.change("", "v1", "secrets", {"metadata": place}, change)


def _is_tracking(live: Object) -> bool:
    return SINCE in (live.get("data") or {})


def _dated(live: Object, wanted: Object) -> Object | None:
    """Return the ConfigMap with today's date; None: it has one."""
    data = live.get("data") or {}
    if day(data.get(SINCE, "")) is not None:
        return None
    return {**live, "data": {**data, **wanted["data"]}}


def day(text: str) -> date | None:
    """Return the day of a date such as `2026-01-31`, in no time zone; None for any other text."""
    try:
        found = datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007
    except ValueError:
        return None
    return found if found.isoformat() == text else None
