"""Record and rules of Secrets."""

from __future__ import annotations

import base64

from orchtw.registry.groups.core.secret_validation import validate_secret
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.schema.tables import cells_core
from orchtw.wire.objects import Object


class SecretStrategy(Strategy):
    """Write rules of Secrets, with `stringData` as a write-only way to give `data` as plain text."""

    def fold_write_only(self, obj: Object) -> None:
        """Fold `stringData` of an applied document into `data`; other than maps of strings are left for the type
        check.
        """
        plain, data = obj.get("stringData"), obj.get("data")
        texts = isinstance(plain, dict) and all(isinstance(value, str) for value in plain.values())
        if texts and isinstance(data, dict | None):
            merge_string_data(obj)


def merge_string_data(secret: Object) -> None:
    """Move `stringData` into `data`, encoded; it is never stored or returned."""
    plain = secret.pop("stringData", None)
    if plain:
        data = dict(secret.get("data") or {})
        data.update((key, base64.b64encode(value.encode()).decode()) for key, value in plain.items())
        position = {"data": dict(sorted(data.items()))}
        rest = {key: value for key, value in secret.items() if key != "data"}
        _reorder(secret, rest, position)


def _reorder(secret: Object, rest: Object, data: Object) -> None:
    """Write `data` where a Secret emits it: before `type`."""
    kind = {"type": rest.pop("type")} if "type" in rest else {}
    secret.clear()
    secret.update({**rest, **data, **kind})


SECRET = KindRecord(
    group="", kind="Secret", strategy=SecretStrategy, validate=validate_secret, cells=cells_core.secret
)
