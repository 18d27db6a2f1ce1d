"""Records of ConfigMaps and ServiceAccounts."""

from __future__ import annotations

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.payload import MAX_PAYLOAD_BYTES, encoded_bytes, immutability
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_core
from orchtw.schema.validation.problems import at
from orchtw.values import utf8
from orchtw.values.causes import WHOLE_OBJECT, invalid, too_long
from orchtw.wire.objects import Object


def validate_config_map(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that keys are unique, data is not too large, and an immutable map does not change."""
    data, binary = new.get("data") or {}, new.get("binaryData") or {}
    twice = sorted(data.keys() & binary.keys())
    causes = [
        invalid(f"data{at(key)}", key, "duplicate of key present in binaryData") for key in twice[:MAX_CAUSES]
    ]
    if _text_bytes(data) + encoded_bytes(binary) > MAX_PAYLOAD_BYTES:
        causes.append(too_long(WHOLE_OBJECT, MAX_PAYLOAD_BYTES))
    return causes if old is None else causes + immutability(new, old, "data", "binaryData")


def _text_bytes(data: dict[str, str]) -> int:
    """Return the size of all values in UTF-8, or an upper bound if that is small."""
    characters = sum(map(len, data.values()))
    if characters * 4 <= MAX_PAYLOAD_BYTES // 2:
        return characters * 4
    return sum(map(utf8.size, data.values()))


class ServiceAccountStrategy(Strategy):
    """Write rules of accounts, which keep only the names of their secrets: these are in the same namespace."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        self._keep_names(obj)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        super().prepare_for_update(new, old)
        self._keep_names(new)

    @staticmethod
    def _keep_names(account: Object) -> None:
        if secrets := account.get("secrets"):
            account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in secrets]


CONFIG_MAP = KindRecord(group="", kind="ConfigMap", validate=validate_config_map, cells=cells_core.config_map)
SERVICE_ACCOUNT = KindRecord(
    group="", kind="ServiceAccount", strategy=ServiceAccountStrategy, cells=cells_core.service_account
)
