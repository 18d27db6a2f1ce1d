"""Calls to webhooks for real, on this machine (reference HOOK-10)."""
# covers: orchtw.outbound.errors

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Any

import attrs
import msgspec
from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import CancelledError, Deferred, gatherResults
from twisted.internet.error import CannotListenError
from twisted.internet.task import deferLater
from twisted.trial.unittest import SkipTest, TestCase

from orchtw.outbound.caller import Caller, CallFailed, Question
from orchtw.outbound.credentials import CredentialsError, Fixed, ShownHeaders, bearer
from orchtw.outbound.exchange import ClientExchange
from orchtw.outbound.policy import TLSPolicy
from orchtw.outbound.remote import Remote
from orchtw.outbound.services import Resolver, ServiceReference
from orchtw.testing.webhook import HANG_UP, Reply, WebhookRequest, WebhookServer
from tests.outbound.doubles import Cluster
from tests.outbound.test_kubeconfig import CA, CERTIFICATE, KEY_PEM

reactor: Any = installed_reactor


class CallerCase(TestCase):
    """A caller, and a webhook that records its requests."""

    def setUp(self) -> None:
        self.cluster = Cluster()
        own = ServiceReference(namespace="default", name="orch")
        self.caller = Caller(reactor, Resolver(self.cluster, own, Random(1)), "orch-apiserver/v1.24.0")
        self.addCleanup(self.caller.stopService)
        self.reply: Any = {"ok": True}
        self.webhook = self.new_webhook()
        self.remote = Remote.of_client_config(self.webhook.client_config("/convert"))

    def new_webhook(self, **settings: Any) -> WebhookServer:
        made = WebhookServer(reactor, self.answer, **settings)
        self.addCleanup(made.stop)
        return made

    def answer(self, _asked: WebhookRequest) -> Any:
        return self.reply

    async def settled(self, done: Callable[[], Any]) -> None:
        """Wait until `done()` is true, for 5 s at most."""
        for _ in range(500):
            if done():
                return
            await deferLater(reactor, 0.01)
        self.fail("it does not come to that")

    async def trouble(self, remote: Remote | None = None, *, timeout_s: float = 5.0, limit_bytes: int = 1000) -> str:
        """Return the text of the failure of a call."""
        try:
            await self.caller.post(remote or self.remote, b"{}", timeout_s=timeout_s, limit_bytes=limit_bytes)
        except CallFailed as problem:
            return str(problem)
        raise AssertionError("the call has succeeded")


class CallTests(CallerCase):
    """Sent requests, and the connections that carry them."""

    async def test_post(self) -> None:
        """A POST of JSON with the time in its URL; nothing is asked to be compressed."""
        self.assertEqual(await self.caller.post(self.remote, b'{"a":1}', timeout_s=30), b'{"ok":true}')
        (asked,) = self.webhook.asked
        self.assertEqual((asked.method, asked.target, asked.json), ("POST", "/convert?timeout=30s", {"a": 1}))
        self.assertEqual(asked.headers["content-type"], "application/json")
        self.assertEqual(asked.headers["accept"], "application/json, */*")
        self.assertEqual(asked.headers["user-agent"], "orch-apiserver/v1.24.0")
        self.assertEqual(asked.headers["host"], f"127.0.0.1:{self.webhook.port}")
        self.assertNotIn("accept-encoding", asked.headers)

    async def test_kept(self) -> None:
        """Calls one after the other share a connection."""
        for _ in range(3):
            await self.caller.post(self.remote, b"{}", timeout_s=5)
        self.assertEqual((self.webhook.accepted, len(self.webhook.asked)), (1, 3))

    async def test_stale(self) -> None:
        """A kept connection that turns out to be closed is replaced, and the call made again."""
        await self.caller.post(self.remote, b"{}", timeout_s=5)
        first = iter([HANG_UP])
        self.webhook.answer = lambda asked: next(first, {})
        self.assertEqual(await self.caller.post(self.remote, b"{}", timeout_s=5), b"{}")
        self.assertEqual(self.webhook.accepted, 2)

    async def test_get(self) -> None:
        """A GET below the URL, whatever its code; headers may be added."""
        self.reply = Reply(code=404, body=b"no", headers=(("X-A", "b"),))
        remote = Remote(url=self.webhook.url + "/base", tls=self.remote.tls)
        question = Question(path="/apis", query="a=b", headers={"X-Remote-User": "me"})
        answer = await self.caller.ask(remote, question, timeout_s=5)
        self.assertEqual((answer.code, answer.body, answer.headers["x-a"]), (404, b"no", "b"))
        (asked,) = self.webhook.asked
        self.assertEqual((asked.method, asked.target), ("GET", "/base/apis?a=b"))
        self.assertEqual(asked.headers["x-remote-user"], "me")

    async def test_no_redirects_no_cookies(self) -> None:
        """Redirects are not followed, cookies not kept, and nothing is inflated."""
        self.reply = Reply(code=302, headers=(("Location", self.webhook.url + "/b"), ("Set-Cookie", "a=b")))
        await self.caller.ask(self.remote, Question(), timeout_s=5)
        self.reply = Reply(body=b"not deflated", headers=(("Content-Encoding", "gzip"),))
        self.assertEqual((await self.caller.ask(self.remote, Question(), timeout_s=5)).body, b"not deflated")
        self.assertEqual([asked.target for asked in self.webhook.asked], ["/convert", "/convert"])
        self.assertNotIn("cookie", self.webhook.asked[-1].headers)

    async def test_several_at_a_time(self) -> None:
        """Calls at the same time do not wait for each other."""
        waiting: list[Deferred[Any]] = []

        def answer(_asked: WebhookRequest) -> Any:
            waiting.append(Deferred())
            if len(waiting) == 5:
                for each in waiting:
                    each.callback(b"{}")
            return waiting[-1]

        self.webhook.answer = answer
        calls = [Deferred.fromCoroutine(self.caller.post(self.remote, b"{}", timeout_s=5)) for _ in range(5)]
        self.assertEqual(await gatherResults(calls), [b"{}"] * 5)


class SharingTests(CallerCase):
    """Connections shared by calls (reference HOOK-27)."""

    async def test_other_policy(self) -> None:
        """Another bundle, certificate, name or Service has connections of its own, to the same host."""
        tls = self.remote.tls
        for other in (
            tls,
            attrs.evolve(tls, server_name="localhost"),
            attrs.evolve(tls, certificate=CERTIFICATE, key=KEY_PEM),
            TLSPolicy(insecure=True),
        ):
            for _ in range(2):
                await self.caller.post(msgspec.structs.replace(self.remote, tls=other), b"{}", timeout_s=5)
        self.assertEqual(self.webhook.accepted, 4)

    async def test_stop(self) -> None:
        """At the end calls are given up and connections closed."""
        await self.caller.post(self.remote, b"{}", timeout_s=5)
        self.reply = Reply(silent=True)
        running = Deferred.fromCoroutine(self.caller.post(self.remote, b"{}", timeout_s=5))
        await self.settled(lambda: len(self.webhook.asked) == 2)
        await self.caller.stopService()
        self.assertIsInstance(self.failureResultOf(running).value, CancelledError)
        await self.settled(lambda: self.webhook.connections == 0)
        text = f'Post "{self.remote.url}?timeout=5s": the server is shutting down'
        self.assertEqual(await self.trouble(), text)

    async def test_left(self) -> None:
        """A cancelled call closes its connection."""
        self.reply = Reply(silent=True)
        running = Deferred.fromCoroutine(self.caller.post(self.remote, b"{}", timeout_s=5))
        await self.settled(lambda: self.webhook.asked)
        running.cancel()
        self.failureResultOf(running, CancelledError)
        await self.settled(lambda: self.webhook.connections == 0)


class FailureTests(CallerCase):
    """Failed calls, in the reference server's words (reference HOOK-21, HOOK-28, HOOK-29)."""

    def url(self, text: str = "", timeout: str = "5s") -> str:
        return f'Post "{text or self.webhook.url}/convert?timeout={timeout}": '

    async def test_nobody(self) -> None:
        """A closed port and an unknown host name are reported."""
        await self.webhook.stop()
        where = f"127.0.0.1:{self.webhook.port}"
        expected = self.url() + f"dial tcp {where}: connect: connection refused"
        self.assertEqual(await self.trouble(), expected)
        remote = msgspec.structs.replace(self.remote, url="https://a..b/convert")
        expected = self.url("https://a..b") + "dial tcp: lookup a..b: no such host"
        self.assertEqual(await self.trouble(remote), expected)

    async def test_late(self) -> None:
        """The time is over before the head, or in the body."""
        late = self.url(timeout="200ms") + "context deadline exceeded"
        half = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
        for reply in (Reply(silent=True), Reply(raw=half)):
            self.reply = reply
            with self.assertRaises(CallFailed) as raised:
                await self.caller.post(self.remote, b"{}", timeout_s=0.2)
            self.assertEqual((str(raised.exception), raised.exception.late), (late, True))
        await self.settled(lambda: self.webhook.connections == 0)

    async def test_less_time(self) -> None:
        """A request that has less time left ends sooner than the URL says."""
        self.reply = Reply(silent=True)
        with self.assertRaises(CallFailed) as raised:
            await self.caller.post(self.remote, b"{}", timeout_s=30, left_s=0.1)
        self.assertEqual(str(raised.exception), self.url(timeout="30s") + "context deadline exceeded")

    async def test_cut(self) -> None:
        """The connection ends before the answer, or in it."""
        lost = "unexpected error when reading response body. Please retry. Original error: unexpected EOF"
        for reply, expected in (
            (HANG_UP, self.url() + "EOF"),
            (Reply(raw=b"", half_closed=True), self.url() + "EOF"),
            (Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Le", close=True), self.url() + "EOF"),
            (Reply(body=b"x" * 10, cut=5), lost),
        ):
            self.reply = reply
            self.assertEqual(await self.trouble(), expected)

    async def test_no_http(self) -> None:
        """A response that is not HTTP, or has no clear end, is reported as malformed."""
        for raw in (
            b"220 SMTP ready\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        ):
            self.reply = Reply(raw=raw)
            self.assertIn("transport connection broken: malformed HTTP response", await self.trouble())

    async def test_wrong_length(self) -> None:
        """Of an answer longer than it says the rest is dropped with its connection; a shorter one is cut."""
        self.reply = Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n")
        for _ in range(2):
            self.assertEqual(await self.caller.post(self.remote, b"{}", timeout_s=5), b"{}")
        self.assertEqual(self.webhook.accepted, 2)
        self.reply = Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", close=True)
        self.assertIn("unexpected EOF", await self.trouble())
        self.reply = Reply(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nz\r\n")
        self.assertIn("unexpected EOF", await self.trouble())

    async def test_no_length(self) -> None:
        """A body that ends with its connection is whole, however that ends."""
        self.reply = Reply(raw=b"HTTP/1.0 200 OK\r\n\r\n{}", close=True)
        self.assertEqual(await self.caller.post(self.remote, b"{}", timeout_s=5), b"{}")
        self.reply = Reply(raw=b"HTTP/1.0 200 OK\r\n\r\n{}")
        heard: list[bytes] = []
        read = ClientExchange.dataReceived

        def hear(exchange: ClientExchange, data: bytes) -> None:
            read(exchange, data)
            heard.append(data)

        self.patch(ClientExchange, "dataReceived", hear)
        running = Deferred.fromCoroutine(self.caller.post(self.remote, b"{}", timeout_s=5))
        await self.settled(lambda: b"".join(heard).endswith(b"{}"))
        self.webhook.hang_up()
        self.assertEqual(await running, b"{}")

    async def test_too_long(self) -> None:
        """Of a body that is too long no more is read, nor of a head without end."""
        self.reply = Reply(body=b"x" * 1001)
        self.assertEqual(await self.trouble(), "the answer is longer than 1000 bytes")
        self.reply = Reply(raw=b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % at for at in range(30_000)))
        self.assertIn("server response headers exceeded 262144 bytes; aborted", await self.trouble())
        self.reply = Reply(raw=b"HTTP/1.1 102 Wait\r\n\r\n" * 15_000)
        self.assertIn("server response headers exceeded 262144 bytes; aborted", await self.trouble())
        await self.settled(lambda: self.webhook.connections == 0)

    async def test_codes(self) -> None:
        """A response with an error code fails, with the server's message if it is readable."""
        said = b'{"kind":"Status","message":"you may not"}'
        for reply, expected in (
            (Reply(code=404), "the server could not find the requested resource"),
            (Reply(code=401), "the server has asked for the client to provide credentials"),
            (Reply(code=403, body=said), "you may not"),
            (Reply(code=403, body=b"<html>", content_type="image/png"), "unknown"),
            (
                Reply(code=500, body=b' "no" ', content_type="text/plain"),
                'an error on the server ("\\"no\\"") has prevented the request from succeeding',
            ),
            (Reply(code=302), "the server responded with the status code 302 but did not return more information"),
        ):
            self.reply = reply
            with self.assertRaises(CallFailed) as raised:
                await self.caller.post(self.remote, b"{}", timeout_s=5)
            self.assertEqual((str(raised.exception), raised.exception.code), (expected, reply.code))


class TLSTests(CallerCase):
    """Verification of the other server's certificate (reference HOOK-28)."""

    async def words(self, webhook: WebhookServer, **tls: Any) -> str:
        policy = TLSPolicy(**{"authorities": webhook.ca_pem, **tls})
        text = await self.trouble(Remote(url=f"{webhook.url}/", tls=policy))
        self.assertEqual(webhook.asked, [])
        return text.partition('": ')[2]

    async def test_other_authority(self) -> None:
        """A certificate of another authority, without a bundle and with another one."""
        unknown = "x509: certificate signed by unknown authority"
        self.assertEqual(await self.words(self.webhook, authorities=self.new_webhook().ca_pem), unknown)
        self.assertEqual(await self.words(self.webhook, authorities=b""), unknown)

    async def test_other_host(self) -> None:
        """A certificate for other names and addresses."""
        made = self.new_webhook(hosts=("a.example", "*.b.example", "10.0.0.1"))
        valid = "x509: certificate is valid for"
        self.assertEqual(await self.words(made), f"{valid} 10.0.0.1, not 127.0.0.1")
        text = f"{valid} a.example, *.b.example, not c.b.a"
        self.assertEqual(await self.words(made, server_name="c.b.a"), text)
        text = "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        self.assertEqual(await self.words(self.new_webhook(hosts=("a",))), text)
        remote = Remote(url=made.url, tls=TLSPolicy(authorities=made.ca_pem, server_name="X.b.example"))
        self.assertEqual((await self.caller.ask(remote, Question(), timeout_s=5)).code, 200)

    async def test_expired(self) -> None:
        """An expired certificate is refused, and one that is not yet valid."""
        made = self.new_webhook(age=timedelta(days=3))
        text = "x509: certificate has expired or is not yet valid: current time "
        self.assertRegex(await self.words(made), f"^{text}[0-9-]+T[0-9:]+Z is after [0-9-]+T[0-9:]+Z$")
        made = self.new_webhook(age=timedelta(days=-3))
        self.assertRegex(await self.words(made), f"^{text}[0-9-]+T[0-9:]+Z is before [0-9-]+T[0-9:]+Z$")

    async def test_own_certificate(self) -> None:
        """A bundle may hold the server's own certificate, or one among others that cannot be read."""
        garbled = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        for bundle in (self.webhook.certificate_pem, garbled + self.webhook.ca_pem):
            remote = msgspec.structs.replace(self.remote, tls=TLSPolicy(authorities=bundle))
            await self.caller.post(remote, b"{}", timeout_s=5)

    async def test_no_bundle(self) -> None:
        """A bundle without a certificate says so."""
        text = "unable to load root certificates: unable to parse bytes as PEM block"
        self.assertEqual(await self.words(self.webhook, authorities=b"x"), text)

    async def test_insecure(self) -> None:
        """Any certificate is accepted if the client configuration asks for that."""
        remote = msgspec.structs.replace(self.remote, tls=TLSPolicy(insecure=True))
        await self.caller.post(remote, b"{}", timeout_s=5)

    async def test_client_certificate(self) -> None:
        """A server that wants a certificate sees ours; without one it says what it wants."""
        made = self.new_webhook(client_ca=CA)
        self.assertRegex(await self.words(made), "remote error: tls: (certificate required|handshake failure)")
        tls = TLSPolicy(authorities=made.ca_pem, certificate=CERTIFICATE, key=KEY_PEM)
        await self.caller.post(Remote(url=made.url, tls=tls), b"{}", timeout_s=5)
        self.assertEqual(made.asked[0].user, "me")

    async def test_plain(self) -> None:
        """A server that speaks no TLS."""
        made = self.new_webhook(tls=False)
        remote = Remote(url=made.url.replace("http:", "https:"))
        self.assertRegex(await self.trouble(remote), "EOF|first record does not look like a TLS handshake")
        await self.caller.post(Remote(url=made.url), b"{}", timeout_s=5)


class ServiceTests(CallerCase):
    """Webhooks behind Services (reference HOOK-26)."""

    async def test_endpoint(self) -> None:
        """A ready endpoint is dialled, by the name of the Service; the own Service may be on loopback."""
        made = self.new_webhook(hosts=("orch.default.svc",))
        self.cluster.add("default", "orch", endpoints={"ip": "127.0.0.1", "port": made.port})
        config = {"service": {"namespace": "default", "name": "orch", "path": "/a"}, "caBundle": made.ca_bundle}
        await self.caller.post(Remote.of_client_config(config), b"{}", timeout_s=5)
        (asked,) = made.asked
        self.assertEqual((asked.target, asked.headers["host"]), ("/a?timeout=5s", "orch.default.svc"))

    async def test_failures(self) -> None:
        """A call that cannot be routed fails with the URL that would have been requested."""
        remote = Remote.of_client_config({"service": {"namespace": "n", "name": "s", "port": 8443, "path": "x"}})
        url = 'Post "https://s.n.svc:8443/x?timeout=5s": '
        self.assertEqual(await self.trouble(remote), url + 'service "s" not found')
        self.cluster.add("n", "s", port=8443, endpoints={"ip": "127.0.0.1", "port": 1})
        self.assertEqual(await self.trouble(remote), url + "address not allowed")

    async def test_destination(self) -> None:
        """Those who dial themselves learn what."""
        self.cluster.add("n", "s", endpoints={"ip": "10.0.0.1", "port": 8443})
        service = ServiceReference(namespace="n", name="s")
        found = await self.caller.destination(Remote.of_service(service))
        self.assertEqual((found.host, found.port, found.verified_name), ("10.0.0.1", 8443, "s.n.svc"))
        missing = Remote.of_service(ServiceReference(namespace="n", name="t"))
        with self.assertRaises(CallFailed) as raised:
            await self.caller.destination(missing)
        self.assertEqual(str(raised.exception), 'service "t" not found')


class CredentialsTests(CallerCase):
    """Credentials that the server shows to another one."""

    async def test_another_try(self) -> None:
        """After a 401 other credentials are shown once, if there are any (reference CLIENT-11)."""

        class Two:
            def __init__(self) -> None:
                self.tokens = ["one", "two", "three"]

            async def current(self) -> ShownHeaders:
                return bearer(self.tokens[0])

            def refused(self, _shown: ShownHeaders) -> bool:
                self.tokens.pop(0)
                return True

        self.webhook.answer = lambda asked: Reply(code=401)
        remote = msgspec.structs.replace(self.remote, credentials=Two())
        text = "the server has asked for the client to provide credentials"
        self.assertEqual(await self.trouble(remote), text)
        shown = [asked.headers["authorization"] for asked in self.webhook.asked]
        self.assertEqual(shown, ["Bearer one", "Bearer two"])

    async def test_certificate(self) -> None:
        """Credentials may be a certificate, which has connections of its own."""
        made = self.new_webhook(client_ca=CA)
        remote = Remote.of_client_config(made.client_config())
        fixed = Fixed(ShownHeaders(certificate=CERTIFICATE, key=KEY_PEM))
        await self.caller.post(msgspec.structs.replace(remote, credentials=fixed), b"{}", timeout_s=5)
        self.assertEqual(made.asked[0].user, "me")

    async def test_none(self) -> None:
        """Without credentials nothing is sent."""

        class Nobody:
            async def current(self) -> ShownHeaders:
                raise CredentialsError("getting credentials: exec: executable x not found")

            def refused(self, _shown: ShownHeaders) -> bool:
                return False

        remote = msgspec.structs.replace(self.remote, credentials=Nobody())
        url = f'Post "{self.remote.url}?timeout=5s": '
        text = url + "getting credentials: exec: executable x not found"
        self.assertEqual(await self.trouble(remote), text)
        self.assertEqual(self.webhook.asked, [])


class IPv6Tests(CallerCase):
    """A webhook at an IPv6 address."""

    def setUp(self) -> None:
        super().setUp()
        try:
            self.there = self.new_webhook(address="::1", hosts=("::1",))
        except CannotListenError:
            raise SkipTest("this machine has no IPv6: not run") from None

    async def test_post(self) -> None:
        """Its URL has brackets, its certificate the address."""
        remote = Remote.of_client_config(self.there.client_config("/a"))
        await self.caller.post(remote, b"{}", timeout_s=5)
        self.assertEqual(self.there.asked[0].headers["host"], f"[::1]:{self.there.port}")
