"""Agreement of servers on encryption keys (reference CTRL-52)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from twisted.trial.unittest import SynchronousTestCase

from orchtw.rules.agreement import differences, statement
from orchtw.storage.encryption.aes import AesCbc, AesGcm
from orchtw.storage.encryption.configuration import KmsPlugin
from orchtw.storage.encryption.identity import Identity
from orchtw.storage.encryption.samples import Key, Samples

SECRETS = "/registry/secrets/"
OLD, NEW, PLAIN = AesGcm("one", b"o" * 16), AesGcm("two", b"n" * 32), Identity()
OTHER = AesGcm("one", b"x" * 16)
"""Another key of the same name."""


def kms(name: str) -> KmsPlugin:
    return KmsPlugin(name=name, endpoint="unix:///x", timeout_s=1.0, cache_size=1)


class SamplesTests(SynchronousTestCase):
    """Two servers, each with its keys for Secrets, the one that writes first."""

    def differ(self, mine: Sequence[Key], theirs: Sequence[Key]) -> bool:
        one, other = (Samples({SECRETS: keys} if keys else {}) for keys in (mine, theirs))
        pairs = ((one, other), (other, one))
        found = [bool(differences([a], json.loads(json.dumps(statement([b]))))) for a, b in pairs]
        self.assertEqual(found[0], found[1])
        return found[0]

    def test_same(self) -> None:
        """The same keys agree, whatever their kind."""
        for key in (OLD, AesCbc("c", b"c" * 32), PLAIN, kms("k")):
            self.assertFalse(self.differ([key], [key]))
        self.assertFalse(self.differ([], []))

    def test_exchange(self) -> None:
        """Each step of an exchange of keys, one server after the other, agrees with the one before."""
        steps: list[list[Key]] = [[], [PLAIN, OLD], [OLD, PLAIN], [OLD, NEW, PLAIN], [NEW, OLD, PLAIN], [NEW, PLAIN]]
        for before, after in zip(steps, steps[1:], strict=False):
            self.assertFalse(self.differ(before, after), (before, after))

    def test_what_others_cannot_read(self) -> None:
        """A server that writes what another one cannot read disagrees with it."""
        cases: tuple[tuple[list[Key], list[Key]], ...] = (
            ([OLD], []),
            ([OLD, PLAIN], []),
            ([OLD], [NEW]),
            ([OLD], [OTHER]),
            ([OLD, PLAIN], [PLAIN]),
            ([NEW, OLD], [OLD]),
            ([kms("a")], [kms("b")]),
            ([OLD], [AesCbc("one", b"o" * 16)]),
        )
        for mine, theirs in cases:
            self.assertTrue(self.differ(mine, theirs), (mine, theirs))

    def test_nothing_secret(self) -> None:
        """No key is published."""
        said = json.dumps(Samples({SECRETS: [OLD, AesCbc("c", b"c" * 32)]}).published())
        self.assertNotIn("oooo", said)
        self.assertNotIn("cccc", said)
