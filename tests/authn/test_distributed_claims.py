"""Groups that lie with another issuer (reference AUTHN-57)."""

from __future__ import annotations

from typing import Any

import jwt
from twisted.internet.defer import Deferred, ensureDeferred, gatherResults

from orchtw.authn import distributed_claims
from orchtw.authn.oidc_rules import UNSIGNED
from orchtw.testing.webhook import HANG_UP, Reply, WebhookRequest
from orchtw.wire.objects import Object
from tests.authn.issuer import NOW, Issuer, jwk, signed
from tests.authn.oidc_case import OIDCCase
from tests.outbound.test_caller import reactor


class DistributedTests(OIDCCase):
    """Groups in distributed claims, fetched over TLS (reference AUTHN-57, AUTHN-58)."""

    def setUp(self) -> None:
        super().setUp()
        self.reply: Any = None
        self.teller = Issuer(reactor)
        self.addCleanup(self.teller.server.stop)
        self.teller.server.answer = self.tell
        self.told = {"groups": ["dev"]}

    def tell(self, asked: WebhookRequest) -> Any:
        """Return the reply of the server that holds the distributed claims."""
        if asked.target != "/groups?of=alice":
            return self.teller.answer(asked)
        return self.reply or Reply(body=signed(self.teller.claims(**self.told), "two").encode())

    def token(self, **more: Any) -> str:
        """A token whose groups stand elsewhere; the teller signs with a key of its own."""
        self.teller.keys = [jwk("two")]
        source = {"endpoint": f"{self.teller.url}/groups?of=alice", "access_token": "open"}
        named = {"_claim_names": {"groups": "there"}, "_claim_sources": {"there": source}}
        return signed(self.issuer.claims(**{**named, **more}))

    async def begin(self, **flags: Any) -> None:
        """Both servers are believed."""
        ca = self.issuer.server.ca_pem + self.teller.server.ca_pem
        await super().begin(ca=ca, **{"oidc_groups_claim": "groups", "oidc_groups_prefix": "x:", **flags})

    @property
    def asked(self) -> list[WebhookRequest]:
        return [each for each in self.teller.server.asked if each.target.startswith("/groups")]

    async def test_good(self) -> None:
        """They are asked for with the token that is to be shown there, once, and get the prefix."""
        await self.begin()
        token = self.token()
        both = await gatherResults([ensureDeferred(self.found(token)) for _ in range(2)])
        for found in (*both, await self.found(token)):
            self.assertEqual(found.groups, ("x:dev", "system:authenticated"))
        (asked,) = self.asked
        self.assertEqual(asked.headers["authorization"], "Bearer open")

    async def test_same_issuer(self) -> None:
        """The issuer may be the one that tells; its keys are not read twice."""
        await self.begin()
        self.reply = Reply(body=signed(self.issuer.claims(groups="one")).encode())
        self.assertEqual((await self.found(self.token())).groups, ("x:one", "system:authenticated"))
        self.assertEqual((self.issuer.fetches, self.teller.fetches), (1, 0))

    async def test_nothing_to_ask(self) -> None:
        """Distributed groups are fetched only if they are wanted, absent from the token, and have a source."""
        await self.begin()
        more: Object
        for more in (
            {"groups": []},
            {"_claim_names": {"other": "there"}},
            {"_claim_sources": {"there": {"JWT": "a.b.c"}}},
            {"_claim_names": None},
        ):
            self.assertEqual((await self.found(self.token(**more))).groups, ("system:authenticated",), more)
        await self.begin(oidc_groups_claim="")
        self.assertEqual((await self.found(self.token())).groups, ("system:authenticated",))
        self.assertEqual(self.asked, [])

    async def test_bad_source(self) -> None:
        """A token with an invalid claim source is refused."""
        await self.begin()
        more: Object
        for more in (
            {"_claim_names": ["groups"]},
            {"_claim_names": {"groups": 5}},
            {"_claim_names": {"groups": "x"}},
            {"_claim_sources": None},
            {"_claim_sources": []},
            {"_claim_sources": {"there": "https://a"}},
            {"_claim_sources": {"there": {"endpoint": 5}}},
            {"_claim_sources": {"there": {"endpoint": "http://127.0.0.1/groups"}}},
            {"_claim_sources": {"there": {"endpoint": "https://a", "access_token": "a\r\nb: c"}}},
        ):
            self.assertIn("oidc: could not expand distributed claims: ", await self.found(self.token(**more)), more)
        self.assertEqual(self.asked, [])

    async def test_lying(self) -> None:
        """A bad reply with distributed claims is a 401 each time and is not cached."""
        await self.begin()
        good = self.teller.claims(groups=["dev"])
        for reply in (
            Reply(code=500),
            Reply(code=302, headers=(("Location", "/groups?of=alice"),)),
            HANG_UP,
            Reply(body=b"<html>"),
            Reply(body=b"x" * (1 << 20)),
            Reply(body=signed(good, "three").encode()),
            Reply(body=signed({**good, "exp": NOW - 1}, "two").encode()),
            Reply(body=signed({**good, "aud": "other"}, "two").encode()),
            Reply(body=signed({**good, "iss": "http://127.0.0.1"}, "two").encode()),
            Reply(body=signed({**good, "iss": "https://127.0.0.1:1"}, "two").encode()),
            Reply(body=signed({**good, "groups": 5}, "two").encode()),
            Reply(body=signed({**good, "x": "y", "groups": {"a": 1}}, "two").encode()),
            Reply(body=signed(self.teller.claims(), "two").encode()),
            Reply(body=jwt.encode(good, "", "none").encode()),
        ):
            self.reply = reply
            self.assertIsInstance(await self.found(self.token()), str, reply)
        self.reply = None
        self.assertEqual((await self.found(self.token())).groups, ("x:dev", "system:authenticated"))

    async def test_withdrawn(self) -> None:
        """Groups that were told with a key that is withdrawn are not believed any more, remembered or not
        (reference AUTHN-49, AUTHN-58).
        """
        await self.begin()
        token = self.token()
        self.assertEqual((await self.found(token)).groups, ("x:dev", "system:authenticated"))
        *_, keys = list(self.services)
        self.teller.keys = []
        self.time.clock.advance(300)
        await self.settled(lambda: keys.keys == ())
        self.assertIn("failed to verify id token signature", await self.found(token))

    async def test_withdrawn_meanwhile(self) -> None:
        """A token whose key is withdrawn while its groups are fetched is refused (reference AUTHN-49)."""
        await self.begin()
        told: Deferred[Reply] = Deferred()
        self.reply = told
        waiting = ensureDeferred(self.found(self.token()))
        await self.settled(lambda: self.asked)
        self.issuer.keys = []
        self.time.clock.advance(300)
        await self.settled(lambda: self.keys.keys == ())
        told.callback(Reply(body=signed(self.teller.claims(groups=["dev"]), "two").encode()))
        self.assertEqual(await waiting, UNSIGNED)

    async def test_many_issuers(self) -> None:
        """The keys of so many issuers are kept up, of those that were asked last."""
        self.patch(distributed_claims, "ISSUERS", 2)
        await self.begin()
        for port in (1, 2, 3):
            self.reply = Reply(body=signed({**self.teller.claims(), "iss": f"https://127.0.0.1:{port}"}).encode())
            await self.found(self.token(jti=port))
        self.assertEqual(len(list(self.services)), 3)
