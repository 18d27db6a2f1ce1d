"""Audit annotations about webhook calls (reference HOOK-25)."""

from __future__ import annotations

from typing import Final

import orjson

from orchtw.admission.attributes import Attributes
from orchtw.admission.webhooks.hook import Hook
from orchtw.admission.webhooks.review import GROUP
from orchtw.naming.naming import Naming
from orchtw.values.names import qualified_name

_PATCH_TYPE: Final = b'"JSONPatch"'


class Notes:
    """Writer of audit annotations, whose keys have the round of a call and its index in that round."""

    def __init__(self, naming: Naming) -> None:
        domain = f"webhook.{naming.group(GROUP)}"
        self._mutation = f"mutation.{domain}/"
        self._patch = f"patch.{domain}/"
        self._open = {True: f"failed-open.mutation.{domain}/", False: f"failed-open.validating.{domain}/"}

    def called(self, asked: Attributes, hook: Hook, number: int, *, mutated: bool) -> None:
        """Annotate the call of a mutating webhook, and whether it changed the object."""
        value = {"configuration": hook.configuration, "webhook": hook.name, "mutated": mutated}
        asked.annotate(self._mutation + _place(asked, number), orjson.dumps(value).decode())

    def patched(self, asked: Attributes, hook: Hook, number: int, patch: bytes) -> None:
        """Annotate a patch that was applied."""
        names = orjson.dumps({"configuration": hook.configuration, "webhook": hook.name})[:-1]
        value = b'%b,"patch":%b,"patchType":%b}' % (names, patch, _PATCH_TYPE)
        asked.annotate(self._patch + _place(asked, number), value.decode(), detailed=True)

    def failed_open(self, asked: Attributes, hook: Hook, number: int, *, mutating: bool) -> None:
        """Annotate a failed call after which the request goes on."""
        asked.annotate(self._open[mutating] + _place(asked, number), hook.name)

    def said(self, asked: Attributes, hook: Hook, key: str, value: str) -> bool:
        """Add an annotation that the webhook sent; False if its key is not a qualified name."""
        whole = f"{hook.name}/{key}"
        if qualified_name(whole):
            return False
        asked.annotate(whole, value)
        return True


def _place(asked: Attributes, number: int) -> str:
    return f"round_{asked.round}_index_{number}"
