"""Encryption provider chacha: ChaCha20-Poly1305, each value bound to its place in the store."""

from __future__ import annotations

import binascii
import os
from base64 import b64decode
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from orchtw.outbound.fields import Fields
from orchtw.plugins import EncryptionPlugin
from orchtw.storage.encryption.provider import Unreadable, family, no_key, prefix

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class ChaCha:
    """One key. Change it after some 2^32 writes: nonces are random."""

    family: Final = family("chacha")
    no_key: Final = no_key("chacha")

    def __init__(self, name: str, key: bytes) -> None:
        self.prefix = prefix("chacha", name)
        self._aead = ChaCha20Poly1305(key)

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt a value; `place` is its key in the store."""
        nonce = os.urandom(NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, plain, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """Decrypt a value. Raises Unreadable for one that was changed, or moved from another place."""
        try:
            return self._aead.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], place)
        except (InvalidTag, ValueError):
            raise Unreadable("message authentication failed") from None


def make(fields: Fields) -> ChaCha:
    """Return the provider of `chacha: {name: ..., secret: <base64 of 32 bytes>}`."""
    fields.only("name", "secret")
    name = fields.text("name")
    if not name or ":" in name:
        raise fields.wrong("name", "must be a name without a colon")
    try:
        key = b64decode(fields.text("secret"), validate=True)
    except (binascii.Error, ValueError):
        raise fields.wrong("secret", "must be base64") from None
    if len(key) != KEY_BYTES:
        raise fields.wrong("secret", f"must be {KEY_BYTES} bytes")
    return ChaCha(name, key)


CHACHA = EncryptionPlugin(make=make)
