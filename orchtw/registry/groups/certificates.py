"""Certificate signing requests: the server says who asks, and what is asked for never changes.

Source: reference CSR-2.
"""

from __future__ import annotations

from typing import Any

from orchtw.objects import Object
from orchtw.registry.kind import Kind
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.rules.names import PATH_SEGMENT_NAME
from orchtw.schema.tables import cells_cluster

_IDENTITY = ("username", "uid", "groups", "extra")
_CERTIFICATE, _CONDITIONS = "certificate", "conditions"


class SigningRequestStrategy(Strategy):
    """Approval writes conditions, status the certificate; the main path neither."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        spec = {key: value for key, value in obj["spec"].items() if key not in _IDENTITY}
        extra = {key: list(values) for key, values in sorted(user.extra.items())}
        asked_by = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
        filled = {key: value for key, value in asked_by.items() if value}
        obj["spec"] = self._codec.normalise({"spec": {**spec, **filled}})["spec"]

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        new["spec"] = old["spec"]

    def prepare_for_status(self, new: Object, old: Object, now: str) -> Object:
        stored = super().prepare_for_status(new, old, now)
        return {**stored, "status": _stamped(new.get("status", {}), old.get("status", {}), now)}

    def prepare_for_subresource(self, name: str, new: Object, old: Object, now: str) -> Object | None:
        if name != "approval":
            return super().prepare_for_subresource(name, new, old, now)
        before = old.get("status", {})
        status = {key: value for key, value in before.items() if key != _CONDITIONS}
        if conditions := _stamped(new.get("status", {}), before, now).get(_CONDITIONS):
            status = {_CONDITIONS: conditions, **status}
        return {**new, "spec": old["spec"], "status": status}

    def subresource_ignores(self, name: str) -> tuple[str, ...]:
        if name != "approval":
            return super().subresource_ignores(name)
        return ("spec", f"status.{_CERTIFICATE}")


def _stamped(status: Object, before: Object, now: str) -> Object:
    """`status` whose conditions say when they were written and when they last changed."""
    conditions = status.get(_CONDITIONS)
    if not conditions:
        return status
    known = {(each["type"], each["status"]): each.get("lastTransitionTime") for each in before.get(_CONDITIONS) or ()}
    return {**status, _CONDITIONS: [_condition(each, known, now) for each in conditions]}


def _condition(condition: Object, known: dict[tuple[str, str], Any], now: str) -> Object:
    updated, changed = condition.get("lastUpdateTime"), condition.get("lastTransitionTime")
    rest = {key: value for key, value in condition.items() if key not in ("lastUpdateTime", "lastTransitionTime")}
    changed = changed or known.get((condition["type"], condition["status"]))
    return {**rest, "lastUpdateTime": updated or now, "lastTransitionTime": changed or now}


CERTIFICATE_SIGNING_REQUEST = Kind(
    group="certificates.orch.io",
    kind="CertificateSigningRequest",
    strategy=SigningRequestStrategy,
    name_form=PATH_SEGMENT_NAME,
    cells=cells_cluster.signing_request,
)

KINDS = (CERTIFICATE_SIGNING_REQUEST,)
