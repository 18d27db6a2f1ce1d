"""Keys that a service keeps (reference STORE-14)."""
# covers: orchtw.storage.encryption.kms_client

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import Clock, deferLater
from twisted.trial.unittest import TestCase

from orchtw.storage.encryption.aes import AesCbc
from orchtw.storage.encryption.kms import Kms, KmsHealth
from orchtw.storage.encryption.kms_client import KmsClient
from orchtw.storage.encryption.provider import KeyMissing, Unreadable
from orchtw.storage.encryption.store import with_keys
from tests.storage.encryption.key_service import KeyService
from tests.storage.store_files import reactor

PLACE = b"/registry/secrets/a/b"


class ServiceCase(TestCase):
    """A service on a socket of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()  # a socket's path must be short
        self.addCleanup(folder.cleanup)
        self.endpoint = f"unix://{folder.name}/kms.sock"
        self.path = Path(folder.name) / "kms.sock"
        self.service = KeyService(f"unix:{self.path}")
        self.addCleanup(lambda: self.service.stop())

    def client(self, timeout_s: float = 5.0) -> KmsClient:
        client = KmsClient(self.endpoint, timeout_s, reactor)
        self.addCleanup(client.close)
        return client

    def kms(self, cache_size: int = 10) -> Kms:
        return Kms("k", self.client(), cache_size)

    async def sealed(self, kms: Kms, value: bytes = b"x") -> bytes:
        return await with_keys(lambda: kms.seal(value, PLACE))

    async def opened(self, kms: Kms, sealed: bytes) -> bytes:
        return await with_keys(lambda: kms.open(sealed, PLACE))

    async def refusal(self, awaitable: Any) -> str:
        error: Any = await self.assertFailure(Deferred.fromCoroutine(awaitable), Unreadable)
        return str(error)


class KmsTests(ServiceCase):
    async def test_form(self) -> None:
        """The sealed key with its length in front, then the value under that key; the next value has another key."""
        kms = self.kms()
        sealed = await self.sealed(kms, b"value")
        length = int.from_bytes(sealed[:2], "big")
        key = bytes(255 - byte for byte in sealed[2 : 2 + length])
        self.assertEqual(AesCbc("", key).open(sealed[2 + length :], b""), b"value")
        self.assertNotEqual((await self.sealed(kms, b"value"))[: 2 + length], sealed[: 2 + length])
        self.assertEqual(kms.prefix, b"k8s:enc:kms:v1:k:")

    async def test_kept(self) -> None:
        """The service is asked once for a key that is kept, and once for all who wait for it."""
        sealed = await self.sealed(self.kms())
        kms = self.kms()
        self.assertRaises(KeyMissing, kms.open, sealed, PLACE)
        waiting = [Deferred.fromCoroutine(self.opened(kms, sealed)) for _ in range(5)]
        self.assertEqual(await gatherResults(waiting), [b"x"] * 5)
        self.assertEqual(kms.open(sealed, PLACE), b"x")
        self.assertEqual(self.service.calls.count("Decrypt"), 1)

    async def test_bounded(self) -> None:
        """The last used keys are kept."""
        kms = self.kms(2)
        first, second, third = [await self.sealed(kms) for _ in range(3)]
        self.assertRaises(KeyMissing, kms.open, first, PLACE)
        kms.open(second, PLACE)
        await self.opened(kms, first)
        self.assertRaises(KeyMissing, kms.open, third, PLACE)

    async def test_nothing_kept(self) -> None:
        """A negative size keeps nothing: the service is asked each time."""
        kms = self.kms(-1)
        sealed = await self.sealed(kms)
        for _ in range(2):
            self.assertEqual(await self.opened(kms, sealed), b"x")
        self.assertEqual(self.service.calls.count("Decrypt"), 2)

    async def test_refused(self) -> None:
        """The service's error reaches all waiting clients, and the next one asks again."""
        kms = self.kms()
        sealed = await self.sealed(kms)
        kms = self.kms()
        self.service.broken = "sealed away"
        waiting = [Deferred.fromCoroutine(self.refusal(self.opened(kms, sealed))) for _ in range(3)]
        text = "rpc error: code = Unavailable desc = sealed away"
        self.assertEqual(await gatherResults(waiting), [text] * 3)
        self.assertEqual(await self.refusal(self.sealed(kms)), text)
        self.service.broken = ""
        self.assertEqual(await self.opened(kms, sealed), b"x")

    async def test_away(self) -> None:
        """A service that is not there is an error in time, and found again once it is."""
        kms = Kms("k", self.client(0.5), 10)
        self.service.stop()
        self.assertIn("rpc error: code = ", await self.refusal(self.sealed(kms)))
        while self.path.exists():  # the old service takes its socket with it, a little later
            await deferLater(reactor, 0.01)
        self.service = KeyService(f"unix:{self.path}")
        kms = self.kms()
        self.assertEqual(await self.opened(kms, await self.sealed(kms)), b"x")

    async def test_other_version(self) -> None:
        """A service of another interface is refused."""
        self.service.version = "v2"
        text = "KMS provider api version v2 is not supported, only v1beta1 is supported now"
        self.assertEqual(await self.refusal(self.sealed(self.kms())), text)

    async def test_cut_short(self) -> None:
        """A value that ends in its key is malformed."""
        kms = self.kms()
        sealed = await self.sealed(kms)
        for length in (0, 1, 2, 10):
            self.assertRaises(Unreadable, kms.open, sealed[:length], PLACE)

    async def test_no_key(self) -> None:
        """Bytes that are not an AES key are refused, whatever the service says."""
        sealed = b"\0\x03abc" + bytes(32)
        self.assertEqual(
            await self.refusal(self.opened(self.kms(), sealed)), "the service returned a key that is not an AES key"
        )


class HealthTests(ServiceCase):
    async def test_health(self) -> None:
        """A success counts for 20 s, a failure for 3 s."""
        clock = Clock()
        check = KmsHealth(self.kms(), clock)
        await check()
        self.service.broken = "away"
        await check()
        clock.advance(20)
        self.assertIn("away", await self.refusal(check()))
        self.service.broken = ""
        self.assertIn("away", await self.refusal(check()))
        clock.advance(3)
        await check()
