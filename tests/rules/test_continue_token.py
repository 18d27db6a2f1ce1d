"""Continue tokens (reference READ-15)."""

from __future__ import annotations

import base64

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.rules.continue_token import LATEST, Tokens, decode

NAMING = Naming.orch()
TOKENS = Tokens(b"k" * 32, NAMING)
PREFIX = "/registry/pods/"


def token(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


class TokenTests(SynchronousTestCase):
    """Continue tokens (`encode` and `decode`)."""

    def test_round_trip(self) -> None:
        """A token names the revision and the first key after the last one."""
        for revision, last in [(7, "default/a"), (LATEST, "node-1"), (2**62, "n/" + "é" * 40)]:
            position = decode(TOKENS.encode(revision, last, PREFIX), NAMING)
            self.assertEqual((position.revision, position.start), (revision, last + "\0"))
            TOKENS.check(position, PREFIX)

    def test_form(self) -> None:
        """It is unpadded base64url of the documented JSON."""
        text = TOKENS.encode(5, "default/a", PREFIX)
        self.assertNotIn("=", text)
        begin = token('{"v":"meta.orch.io/v1","rv":5,"start":"default/a\\u0000"')
        self.assertEqual(text[:60], begin[:60])

    def test_foreign_tokens(self) -> None:
        """A token of another list, another server or another hand is a 400."""
        good = decode(TOKENS.encode(5, "default/a", PREFIX), NAMING)
        other = Tokens(b"o" * 32, NAMING)
        self.assertRaises(BadRequest, TOKENS.check, good, "/registry/secrets/")
        self.assertRaises(BadRequest, other.check, good, PREFIX)
        self.assertRaises(BadRequest, TOKENS.check, msgspec.structs.replace(good, start="zzz\0"), PREFIX)
        self.assertRaises(BadRequest, TOKENS.check, msgspec.structs.replace(good, revision=4), PREFIX)
        self.assertRaises(BadRequest, TOKENS.check, msgspec.structs.replace(good, signature=""), PREFIX)

    def test_refusals(self) -> None:
        """Any other token is a 400 with the reason."""
        start = "invalid continue token: continue key is not valid: "
        for text, message in [
            ("a/b", "illegal base64 data at input byte 1"),
            ("abcde", "illegal base64 data at input byte 5"),
            ("é", "illegal base64 data at input byte 0"),
            (token("[]"), "not an object"),
            (token('{"v":"x","rv":1,"start":"a"}'), 'server does not recognize this encoded version "x"'),
            (token('{"rv":1,"start":"a"}'), 'server does not recognize this encoded version ""'),
            (token('{"v":"meta.orch.io/v1","start":"a"}'), "incorrect encoded start resourceVersion"),
            (token('{"v":"meta.orch.io/v1","rv":1}'), "encoded start key empty (version meta.orch.io/v1)"),
            (token('{"v":"meta.orch.io/v1","rv":true,"start":"a"}'), "wrong type of field"),
            (token('{"v":"meta.orch.io/v1","rv":1,"start":"../x"}'), "../x"),
            (token('{"v":"meta.orch.io/v1","rv":1,"start":"a/../../x"}'), "a/../../x"),
            (token('{"v":"meta.orch.io/v1","rv":1,"start":"//x"}'), "/x"),
            (token('{"v":"meta.orch.io/v1","rv":1,"start":"a\\u0000/../x"}'), "a\0/../x"),
        ]:
            error = self.assertRaises(BadRequest, decode, text, NAMING)
            self.assertTrue(error.message.startswith(start + message), error.message)

    def test_bad_json(self) -> None:
        """Base64 of no JSON is refused too."""
        self.assertRaises(BadRequest, decode, token("{"), NAMING)

    def test_rooted_keys(self) -> None:
        """A leading slash is taken off."""
        self.assertEqual(decode(token('{"v":"meta.orch.io/v1","rv":1,"start":"/a\\u0000"}'), NAMING).start, "a\0")
