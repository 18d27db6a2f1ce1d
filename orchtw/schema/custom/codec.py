"""The codec of a custom kind in one version."""

from __future__ import annotations

from typing import Any

from orchtw.schema.codec.codecs import KindCodec
from orchtw.schema.custom.identity import check_identity


class CustomCodec(KindCodec):
    """Reads and writes the objects of a kind whose structural schema came at run time."""

    def fit(self, value: object, directive: str, text: bytes = b"") -> tuple[dict[str, Any], list[str]]:
        """See `KindCodec`; kind and apiVersion must be there (reference CRD-14)."""
        if type(value) is dict:
            check_identity(self, value)
        return super().fit(value, directive, text)
