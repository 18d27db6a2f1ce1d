"""The codec of a custom kind in one version."""

from __future__ import annotations

from orchtw.schema.codec.codecs import KindCodec


class CustomCodec(KindCodec):
    """Reads and writes the objects of a kind whose structural schema came at run time."""
