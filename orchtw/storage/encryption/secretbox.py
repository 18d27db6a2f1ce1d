"""XSalsa20 with Poly1305: fast, with nonces too long to repeat at random."""

from __future__ import annotations

from typing import Final

from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from orchtw.storage.encryption.provider import Unreadable, family, no_key, prefix

KEY_SIZES: Final = (SecretBox.KEY_SIZE,)
"""Size of keys, in bytes."""


class SecretBoxProvider:
    """Nonce of 24 bytes, then the box."""

    family: Final = family("secretbox")
    no_key: Final = no_key("Secretbox")

    def __init__(self, name: str, key: bytes) -> None:
        self.prefix = prefix("secretbox", name)
        self._box = SecretBox(key)

    def seal(self, plain: bytes, place: bytes) -> bytes:
        """Encrypt a value; `open` reverses it. See `Provider`."""
        return bytes(self._box.encrypt(plain))

    def open(self, sealed: bytes, place: bytes) -> bytes:
        if len(sealed) < SecretBox.NONCE_SIZE + SecretBox.MACBYTES:
            raise Unreadable("the stored data was shorter than the required size")
        try:
            return self._box.decrypt(sealed)
        except CryptoError:
            raise Unreadable("output array was not large enough for encryption") from None
