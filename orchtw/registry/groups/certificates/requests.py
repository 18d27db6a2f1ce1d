"""Certificate signing requests: the server fills in the user, and the request never changes (reference CSR-2)."""

from __future__ import annotations

from typing import Any

from orchtw.errors import Cause
from orchtw.registry.groups.certificates.request_validation import validate_request
from orchtw.registry.groups.certificates.status_validation import DECISIONS, status_causes
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_cluster
from orchtw.values.names import PATH_SEGMENT_NAME
from orchtw.wire.objects import Object

_IDENTITY = ("username", "uid", "groups", "extra")
_CERTIFICATE, _CONDITIONS = "certificate", "conditions"


class SigningRequestStrategy(Strategy):
    """Write rules of requests: /approval writes conditions, /status the certificate, the main path neither."""

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
        before = old.get("status") or {}
        status = _with_decisions(new.get("status") or {}, before)
        return {**stored, "status": _stamped(status, before, now)}

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

    def validate_subresource(self, name: str, new: Object, old: Object) -> list[Cause]:
        """Validate the status: unchanged flaws may stay, the rest is checked."""
        return status_causes(new.get("status") or {}, old.get("status") or {}, approval=name == "approval")


def _with_decisions(status: Object, before: Object) -> Object:
    """Return `status` with the earlier decisions, unless their number has changed."""
    conditions, known = list(status.get(_CONDITIONS) or ()), before.get(_CONDITIONS) or ()
    for kind in DECISIONS:
        places = [index for index, each in enumerate(conditions) if each.get("type") == kind]
        made = [each for each in known if each.get("type") == kind]
        if len(places) == len(made):
            for index, condition in zip(places, made, strict=True):
                conditions[index] = condition
    return {**status, _CONDITIONS: conditions} if conditions else status


def _stamped(status: Object, before: Object, now: str) -> Object:
    """Return `status` with the times at which its conditions were written and last changed."""
    conditions = status.get(_CONDITIONS)
    if not conditions:
        return status
    known = {
        (each.get("type"), each.get("status")): each.get("lastTransitionTime")
        for each in before.get(_CONDITIONS) or ()
    }
    return {**status, _CONDITIONS: [_condition(each, known, now) for each in conditions]}


def _condition(condition: Object, known: dict[tuple[Any, Any], Any], now: str) -> Object:
    updated, changed = condition.get("lastUpdateTime"), condition.get("lastTransitionTime")
    rest = {key: value for key, value in condition.items() if key not in ("lastUpdateTime", "lastTransitionTime")}
    changed = changed or known.get((condition.get("type"), condition.get("status")))
    return {**rest, "lastUpdateTime": updated or now, "lastTransitionTime": changed or now}


CERTIFICATE_SIGNING_REQUEST = KindRecord(
    group="certificates.orch.io",
    kind="CertificateSigningRequest",
    strategy=SigningRequestStrategy,
    name_form=PATH_SEGMENT_NAME,
    validate=validate_request,
    cells=cells_cluster.signing_request,
)
