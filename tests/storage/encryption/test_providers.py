"""Encryption providers against other implementations (reference STORE-14)."""

from __future__ import annotations

import subprocess

from hypothesis import given
from hypothesis import strategies as st
from nacl.secret import SecretBox
from twisted.trial.unittest import SynchronousTestCase

from orchtw.storage.encryption.aes import AesCbc, AesGcm
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.provider import Provider, Unreadable
from orchtw.storage.encryption.secretbox import SecretBoxProvider
from orchtw.storage.encryption.transformers import PLAIN, Transformer, Transformers
from tests.properties import examples

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
PLACE = b"/registry/secrets/a/b"
KEYED = (AesCbc, AesGcm, SecretBoxProvider)


class RoundTripTests(SynchronousTestCase):
    @examples(100)
    @given(st.binary(max_size=200), st.sampled_from(KEYED), st.binary(max_size=30))
    def test_round_trip(self, value: bytes, kind: type[AesCbc], place: bytes) -> None:
        """Sealed values can be opened, differ each time, and do not show the plain text."""
        provider = kind("a", KEY)
        sealed = provider.seal(value, place)
        self.assertEqual(provider.open(sealed, place), value)
        self.assertNotEqual(sealed, provider.seal(value, place))
        if len(value) > 8:
            self.assertNotIn(value, sealed)

    @examples(100)
    @given(st.binary(max_size=100), st.sampled_from(KEYED))
    def test_noise(self, noise: bytes, kind: type[AesCbc]) -> None:
        """Whatever lies in the store, the answer is a value or Unreadable."""
        try:
            kind("a", KEY).open(noise, PLACE)
        except Unreadable as problem:
            self.assertTrue(str(problem))

    @examples(100)
    @given(st.binary(max_size=50), st.data())
    def test_tampered(self, value: bytes, data: st.DataObject) -> None:
        """A changed bit is noticed where the mode can tell."""
        for kind in (AesGcm, SecretBoxProvider):
            sealed = bytearray(kind("a", KEY).seal(value, PLACE))
            sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1
            self.assertRaises(Unreadable, kind("a", KEY).open, bytes(sealed), PLACE)

    def test_other_key(self) -> None:
        """Another key opens nothing."""
        for kind in (AesGcm, SecretBoxProvider):
            self.assertRaises(Unreadable, kind("a", OTHER).open, kind("a", KEY).seal(b"x", PLACE), PLACE)

    def test_sizes(self) -> None:
        """AES takes keys of 16, 24 and 32 bytes."""
        for size in (16, 24, 32):
            for kind in (AesCbc, AesGcm):
                provider = kind("a", KEY[:size])
                self.assertEqual(provider.open(provider.seal(b"x", PLACE), PLACE), b"x")


class FormTests(SynchronousTestCase):
    """The bytes are those that the original writes and reads."""

    def test_cbc(self) -> None:
        """The first block, then what openssl makes with it, padding included."""
        sealed = AesCbc("a", KEY).seal(b"sixteen bytes...", PLACE)
        self.assertEqual(len(sealed), 16 + 32)
        command = ["openssl", "enc", "-d", "-aes-256-cbc", "-K", KEY.hex(), "-iv", sealed[:16].hex()]
        found = subprocess.run(command, input=sealed[16:], capture_output=True, check=True)
        self.assertEqual(found.stdout, b"sixteen bytes...")

    def test_gcm(self) -> None:
        """A nonce of 12 bytes and a tag of 16; the place is authenticated with the value."""
        provider = AesGcm("a", KEY)
        sealed = provider.seal(b"x", PLACE)
        self.assertEqual(len(sealed), 12 + 1 + 16)
        self.assertRaises(Unreadable, provider.open, sealed, b"/registry/secrets/a/c")

    def test_secretbox(self) -> None:
        """A nonce of 24 bytes, then the box of the library."""
        sealed = SecretBoxProvider("a", KEY).seal(b"x", PLACE)
        self.assertEqual(len(sealed), 24 + 16 + 1)
        self.assertEqual(SecretBox(KEY).decrypt(sealed[24:], sealed[:24]), b"x")

    def test_prefixes(self) -> None:
        """Stored values begin with the name of their provider."""
        providers: tuple[Provider, ...] = tuple(kind("key1", KEY) for kind in KEYED)
        self.assertEqual(
            [provider.prefix for provider in providers],
            [b"k8s:enc:aescbc:v1:key1:", b"k8s:enc:aesgcm:v1:key1:", b"k8s:enc:secretbox:v1:key1:"],
        )

    def test_identity(self) -> None:
        """Plain values are as they are; sealed ones are not passed off as plain."""
        self.assertEqual((Identity().seal(b"x", PLACE), Identity().open(b"x", PLACE)), (b"x", b"x"))
        self.assertRaises(Unreadable, Identity().open, b"k8s:enc:aescbc:v1:a:x", PLACE)


class TransformerTests(SynchronousTestCase):
    def test_names_of_two_keys(self) -> None:
        """Of two keys of one name the one that fits opens the value."""
        old = Transformer([AesGcm("a", OTHER)]).seal(b"x", PLACE)
        opened = Transformer([AesGcm("a", KEY), AesGcm("a", OTHER)]).open(old, PLACE)
        self.assertEqual((opened.value, opened.stale), (b"x", True))

    def test_nothing_fits(self) -> None:
        """Errors name each key that was tried, or say that no key matched."""
        stored = Transformer([AesGcm("a", KEY)]).seal(b"x", PLACE)
        table: tuple[tuple[list[Provider], str], ...] = (
            ([AesGcm("b", KEY)], "no matching key was found for the provided AES transformer"),
            ([AesGcm("a", OTHER), Identity()], "cipher: message authentication failed"),
        )
        for providers, why in table:
            error = self.assertRaises(Unreadable, Transformer(providers).open, stored, PLACE)
            self.assertEqual(str(error), why)

    def test_by_resource(self) -> None:
        """The key of an object says its resource; of one that nobody named values are plain."""
        secrets, deployments = (Transformer([AesCbc("a", KEY)]) for _ in range(2))
        found = Transformers({"/registry/secrets/": secrets, "/registry/apps/deployments/": deployments})
        self.assertIs(found.of("/registry/secrets/a/b"), secrets)
        self.assertIs(found.of("/registry/apps/deployments/a/b"), deployments)
        others = ("secrets", "apps/daemonsets/a/b", "nodes/a", "apps/secrets/a")
        for key in (f"/registry/{each}" for each in others):
            self.assertIs(found.of(key), PLAIN)
