"""AES in two modes: CBC, and GCM, which also detects values that were changed or moved."""

from __future__ import annotations

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from orchtw.storage.encryption.provider import Unreadable, family, no_key, prefix

KEY_SIZES: Final = (16, 24, 32)
"""Sizes of keys, in bytes."""

_BLOCK: Final = 16
_NONCE: Final = 12
_TAG: Final = 16


class AesCbc:
    """AES-CBC with PKCS#7 padding, behind a random initialization vector."""

    family: Final = family("aescbc")
    no_key: Final = no_key("AES")

    def __init__(self, name: str, key: bytes) -> None:
        self.prefix = prefix("aescbc", name)
        self._key = AES(key)

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt a value; `open` reverses it. See `Provider`."""
        padding = _BLOCK - len(plain) % _BLOCK
        first = os.urandom(_BLOCK)
        encryptor = Cipher(self._key, CBC(first)).encryptor()
        return first + encryptor.update(plain + bytes([padding]) * padding) + encryptor.finalize()

    def open(self, sealed: bytes, place: bytes) -> bytes:
        if len(sealed) < _BLOCK:
            raise Unreadable("the stored data was shorter than the required size")
        if len(sealed) % _BLOCK:
            raise Unreadable("the stored data is not a multiple of the block size")
        decryptor = Cipher(self._key, CBC(sealed[:_BLOCK])).decryptor()
        padded = decryptor.update(sealed[_BLOCK:]) + decryptor.finalize()
        padding = padded[-1] if padded else 0
        if not 0 < padding <= _BLOCK or padded[-padding:] != bytes([padding]) * padding:
            raise Unreadable("invalid padding on input")
        return padded[:-padding]


class AesGcm:
    """AES-GCM: a random nonce in front, a tag behind; the value is bound to its key in the store.

    Keys must be changed after some 2^32 writes, since nonces are random.
    """

    family: Final = family("aesgcm")
    no_key: Final = no_key("AES")

    def __init__(self, name: str, key: bytes) -> None:
        self.prefix = prefix("aesgcm", name)
        self._aead = AESGCM(key)

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt a value, bound to its place; `open` reverses it. See `Provider`."""
        nonce = os.urandom(_NONCE)
        return nonce + self._aead.encrypt(nonce, plain, place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        if len(sealed) < _NONCE + _TAG:
            raise Unreadable("the stored data was shorter than the required size")
        try:
            return self._aead.decrypt(sealed[:_NONCE], sealed[_NONCE:], place)
        except InvalidTag:
            raise Unreadable("cipher: message authentication failed") from None
