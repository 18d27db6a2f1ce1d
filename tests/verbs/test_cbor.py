"""CBOR, which is not served (reference ENC-21)."""

from __future__ import annotations

from orchtw.testing.in_process import ClientAnswer
from tests.verbs.answered import Case

MAPS = "/api/v1/namespaces/default/configmaps"
CBOR, STREAM = "application/cbor", "application/cbor-seq"
DYNAMIC = "application/json;q=0.9,application/cbor;q=1"
BODY = b"\xd9\xd9\xf7\xa1\x64kind\x69ConfigMap"


class CBORTests(Case):
    async def answer(self, accept: str, code: int, url: str = MAPS) -> ClientAnswer:
        return await self.send("GET", url, code, headers={"accept": accept})

    async def test_accept(self) -> None:
        """CBOR alone is a 406; beside JSON it is passed over, whatever its quality (reference ENC-21)."""
        for url in (MAPS, f"{MAPS}/kube-root-ca.crt", "/api", "/apis"):
            self.assertEqual((await self.answer(CBOR, 406, url)).json["reason"], "NotAcceptable")
        for accept in (DYNAMIC, f"{CBOR},*/*", f"{CBOR};as=Table;v=v1;g=meta.orch.io,application/json"):
            self.assertEqual((await self.answer(accept, 200)).headers["content-type"], "application/json")

    async def test_watch(self) -> None:
        """A stream of CBOR alone is a 406 (reference ENC-21)."""
        await self.answer(STREAM, 406, f"{MAPS}?watch=true")

    async def test_body(self) -> None:
        """A body in CBOR is a 415, so that a client sends JSON from then on (reference ENC-21)."""
        sent = {"content-type": CBOR}
        for method, url in (
            ("POST", MAPS),
            ("PUT", f"{MAPS}/x"),
            ("PATCH", f"{MAPS}/x"),
            ("DELETE", MAPS),
            ("POST", "/apis/authorization.orch.io/v1/selfsubjectaccessreviews"),
        ):
            refused = await self.send(method, url, 415, BODY, sent)
            self.assertEqual(refused.json["reason"], "UnsupportedMediaType", method)
        apply = {"content-type": "application/apply-patch+cbor"}
        await self.send("PATCH", f"{MAPS}/x?fieldManager=me", 415, BODY, apply)
