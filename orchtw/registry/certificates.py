"""Strategy of certificate signing requests: the request itself never changes (supplement D14)."""

from __future__ import annotations

from orchtw.registry.strategy import Object, Strategy


class SigningRequestStrategy(Strategy):
    """Approval writes conditions, status the certificate; the main path neither."""

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        new["spec"] = old["spec"]

    def prepare_subresource(self, name: str, new: Object, old: Object) -> Object | None:
        if name != "approval":
            return super().prepare_subresource(name, new, old)
        status = {key: value for key, value in old.get("status", {}).items() if key != "conditions"}
        if conditions := new.get("status", {}).get("conditions"):
            status = {"conditions": conditions, **status}
        return {**old, "status": status}
