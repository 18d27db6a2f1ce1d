"""State of requests on short lines: nothing leaks from one to the next, and seats are given back however one ends."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock
from weakref import ref

import orjson
from twisted.internet.defer import CancelledError, Deferred

from orchtw.outbound.caller import Caller, CallFailed
from orchtw.request import Peer, Request, Response
from orchtw.writes.drafts import Drafts
from tests.emulated import since
from tests.filters.plan_case import BOB, MAPS, RBAC
from tests.filters.test_plans import DEFINITIONS, LAMPS, definition
from tests.filters.test_short_lines import DRY, WEBHOOKS, WRITES, Asked, LedCase
from tests.verbs.served import DEFAULT

WAITING: Asked = ("GET", f"{MAPS}?resourceVersion=99999999", None, "application/json")
"""A list that waits for a revision which does not come."""

HOOK = {
    "name": "no.example.com",
    "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    "clientConfig": {"url": "https://127.0.0.1:1"},
    "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 30,
}  # fmt: skip


class StateCase(LedCase):
    """Requests whose ends a test waits for."""

    def begun(self, asked: Asked, *, led: bool = True) -> tuple[Deferred[Response], Request]:
        """Return the answer to come of bob's request, which a short line leads or not, and the request."""
        method, url, body, content_type = asked
        path, _, query = url.partition("?")
        headers = {"authorization": f"Bearer {BOB}", "content-type": content_type}
        request = Request(method=method, path=path, query=query, headers=headers, peer=Peer(address="test", port=0),
                          body=b"" if body is None else orjson.dumps(body))  # fmt: skip
        before = self.plans.led
        answer = Deferred.fromCoroutine(self.plans(request))
        self.assertEqual(self.plans.led, before + led)
        return answer, request

    def hook(self) -> Callable[[], None]:
        """Configure a webhook that does not answer; return a function that has all calls fail, also later ones."""
        self.done("POST", WEBHOOKS, {"metadata": {"name": "no"}, "webhooks": [HOOK]})
        calls: list[Deferred[Any]] = []
        failing: list[bool] = []

        def opened(*_about: object) -> Deferred[Any]:
            calls.append(Deferred())
            if failing:
                calls[-1].errback(CallFailed("gone"))
            return calls[-1]

        def fail() -> None:
            failing.append(True)
            for call in [each for each in calls if not each.called]:
                call.errback(CallFailed("gone"))
            self.clock.pump([0.001] * 10)

        self.patch(Caller, "_open", opened)
        return fail

    def stage(self, attribute: str) -> Any:
        """The stage with this attribute."""
        return next(stage for stage in self.plans._stages if hasattr(stage, attribute))  # noqa: SLF001


class ApartTests(StateCase):
    """Requests of one line, one after the other and at the same time."""

    def test_warnings(self) -> None:
        """A warning is sent with the response of its request alone."""
        odd: Asked = ("PUT", DRY[0][1], {"metadata": {"name": "a"}, "no": 1}, DRY[0][3])
        for asked, warned in ((DRY[0], False), (odd, True), (DRY[0], False), (odd, True), (odd, True)):
            self.led(asked)
            self.assertEqual("warning" in self.led(asked).headers, warned)

    def test_dry_run(self) -> None:
        """A dry run in the body of a deletion is of that request alone."""
        url = f"{MAPS}/a"
        dry: Asked = ("DELETE", url, {"dryRun": ["All"]}, "application/json")
        for _ in range(2):
            self.led(dry)
        self.assertEqual(self.ask(("DELETE", url, None, "application/json")).code, 200)
        self.assertEqual(self.ask(dry).code, 404)

    def test_headers(self) -> None:
        """The headers that all requests of a line have stay as they are, whatever becomes of these requests."""
        for asked in DRY:
            self.led(asked)
        lines = list(self.plans._lines.values())  # noqa: SLF001
        kept = [dict(line.headers) for line in lines]
        for method, url, _, content_type in DRY:
            self.ask((method, url, b"{" if method != "GET" else None, content_type))
        for asked in DRY:
            self.led(asked)
        self.assertEqual([line.headers for line in lines], kept)
        self.assertNotIn(BOB, repr(kept))

    def test_audit_ids(self) -> None:
        """Each request has an audit id of its own."""
        ids = {self.led(asked).headers["audit-id"] for asked in DRY}
        self.assertEqual(len(ids), len(DRY))

    def test_deadlines(self) -> None:
        """Requests that wait at the same time end at their own deadlines, and as along the whole line."""
        asked: Asked = ("PUT", f"{MAPS}/a?dryRun=All&timeout=5s", DRY[0][2], DRY[0][3])
        self.led(asked)
        self.hook()
        codes = []
        for self.plans.on in (True, False):
            first, _ = self.begun(asked, led=self.plans.on)
            self.clock.advance(3)
            second, _ = self.begun(asked, led=self.plans.on)
            self.clock.advance(1.9)
            self.assertNoResult(first)
            self.clock.advance(0.1)
            codes.append(self.successResultOf(first).code)
            self.clock.advance(2.9)
            self.assertNoResult(second)
            self.clock.advance(0.1)
            codes.append(self.successResultOf(second).code)
        self.assertEqual(codes, codes[:1] * 4)

    def test_users(self) -> None:
        """A request that waits keeps its user while the line leads those of another."""
        self.give_tokens(f"{BOB},bob,bob,dev\neves,eve,eve,dev\n")
        self.bind("eves", {"kind": "User", "name": "eve", "apiGroup": RBAC})
        self.led(DRY[0])
        self.led(DRY[0], "eves")
        fail = self.hook()
        answer, request = self.begun(DRY[0])
        other = Deferred.fromCoroutine(self.server.request(*DRY[0][:3], {"authorization": "Bearer eves"}))
        assert request.user is not None
        self.assertEqual(request.user.name, "bob")
        fail()
        self.assertEqual((self.successResultOf(answer).code, self.successResultOf(other).code), (500, 500))


class SeatTests(StateCase):
    """Seats of priority and fairness, and requests in flight."""

    def taken(self) -> object:
        """The numbers of seats and requests that are counted now."""
        control = self.stage("_control")._control  # noqa: SLF001
        seats = {name: number for name, number in self.numbers("apiserver_flowcontrol_current_").items()}
        return seats, control.reads.count, control.writes.count

    def test_given_back(self) -> None:
        """Responses, refusals, failures and failing webhooks leave no seat taken."""
        for asked in DRY:
            self.led(asked)
        before = self.taken()
        for asked in DRY:
            self.led(asked)
        for body in (b"{", {"metadata": {"name": "a", "resourceVersion": "1"}}, {"data": 1}):
            self.assertGreaterEqual(self.ask(("PUT", DRY[0][1], body, DRY[0][3])).code, 400)
        with mock.patch.object(Drafts, "change", side_effect=RuntimeError):
            self.assertEqual(self.ask(DRY[0]).code, 500)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.hook()()
        self.assertEqual(self.ask(DRY[0]).code, 500)
        self.assertEqual(self.taken(), before)

    def test_client_leaves(self) -> None:
        """A read ends with its client; a write keeps its seat until it ends."""
        for _ in range(2):
            answer, _ = self.begun(WAITING, led=False)
            answer.cancel()
            self.failureResultOf(answer, CancelledError)
        self.led(DRY[0])
        before = self.taken()
        answer, _ = self.begun(WAITING)
        self.assertNotEqual(self.taken(), before)
        answer.cancel()
        self.failureResultOf(answer, CancelledError)
        self.assertEqual(self.taken(), before)
        fail = self.hook()
        answer, _ = self.begun(DRY[0])
        answer.addErrback(lambda failure: failure.trap(CancelledError))
        answer.cancel()
        self.assertNotEqual(self.taken(), before)
        fail()
        self.assertEqual(self.taken(), before)

    def test_client_leaves_queue(self) -> None:
        """A request that waits for a seat leaves its queue with its client."""
        self.led(DRY[0])
        before = self.taken()
        level = self.stage("_control")._control.live.levels["global-default"].seating  # noqa: SLF001
        seats = []
        while pool := level.take(flow := mock.Mock(seats=0), 1):
            seats.append((flow, pool))
        answer, request = self.begun(DRY[0])
        self.assertTrue(request.queued)
        answer.addErrback(lambda failure: failure.trap(CancelledError))
        answer.cancel()
        for flow, pool in seats:
            if level.give(flow, 1, pool, None, 0.001):
                self.stage("_control")._control.starts.freed(level)  # noqa: SLF001
        self.clock.pump([0.001] * 10)
        self.assertEqual(self.taken(), before)


class InFlightTests(StateCase):
    """A server without priority and fairness."""

    more: ClassVar[Mapping[str, Any]] = {"enable_priority_and_fairness": False, "max_mutating_requests_inflight": 2}

    def test_limit(self) -> None:
        """Led requests count, and are refused at the limit; those that fail or end late are not counted on."""
        self.led(DRY[0])
        mark = self.stage("_in_flight")._in_flight.executing["mutating"]  # noqa: SLF001
        fail = self.hook()
        waiting = [self.begun(DRY[0])[0] for _ in range(2)]
        self.assertEqual((mark.count, self.ask(DRY[0]).code), (2, 429))
        fail()
        self.assertEqual([self.successResultOf(each).code for each in waiting], [500] * 2)
        self.assertEqual((mark.count, self.ask(DRY[0]).code), (0, 500))


class TokenTests(LedCase):
    """Tokens of service accounts on short lines."""

    def test_expiry(self) -> None:
        """A token's last moment is looked at for every request."""
        token = self.account_token()
        sources = self.server.instance.authenticator.tokens._asked  # type: ignore[attr-defined]  # noqa: SLF001
        accounts = next(each for each in sources if hasattr(each, "_in_secrets"))
        seconds = accounts._seconds()  # noqa: SLF001
        self.led(DRY[0], token)
        self.patch(accounts, "_seconds", lambda: seconds + 4000.0)
        self.assertEqual([self.ask(DRY[0], token).code for _ in range(3)], [401] * 3)

    def test_bound_object(self) -> None:
        """A token that is bound to a Secret ends with it."""
        self.done("POST", f"{DEFAULT}/secrets", {"metadata": {"name": "s"}})
        token = self.account_token(kind="Secret", apiVersion="v1", name="s")
        self.led(DRY[0], token)
        self.done("DELETE", f"{DEFAULT}/secrets/s")
        self.assertEqual([self.ask(DRY[0], token).code for _ in range(3)], [401] * 3)


@since((1, 31))
class ReloadTests(LedCase):
    """Files that are read again while the server runs."""

    def setUp(self) -> None:
        self.files = {"authorization": Path(self.mktemp()), "authentication": Path(self.mktemp())}
        self.write("authorization", authorizers=[{"type": "RBAC", "name": "rbac"}])
        self.write("authentication", anonymous={"enabled": True})
        self.patch(type(self), "more", {f"{kind}_config": path for kind, path in self.files.items()})
        super().setUp()

    more: ClassVar[Mapping[str, Any]] = {}

    def write(self, kind: str, **content: Any) -> None:
        """Write one of the files."""
        about = {"apiVersion": "apiserver.config.orch.io/v1", "kind": f"{kind.title()}Configuration"}
        self.files[kind].write_bytes(orjson.dumps({**about, **content}))

    def test_authorizers(self) -> None:
        """The first request after a change of the authorizers is decided by the new ones."""
        for asked in DRY:
            self.led(asked)
        self.write("authorization", authorizers=[{"type": "AlwaysDeny", "name": "no"}])
        self.server.instance.base.reloads.run()
        for asked in DRY:
            self.assertEqual([self.ask(asked).code for _ in range(3)], [403] * 3)

    def test_anonymous(self) -> None:
        """Anonymous requests, which the file may refuse by their paths, are judged by it each time."""
        self.bind("anyone", {"kind": "User", "name": "system:anonymous", "apiGroup": RBAC})
        method, url, body, content_type = DRY[0]

        def codes() -> set[int]:
            headers = {"authorization": "", "content-type": content_type}
            return {self.send(method, url, body, headers).code for _ in range(4)}

        self.assertEqual((codes(), self.plans.led), ({200}, 0))
        self.write("authentication", anonymous={"enabled": False})
        self.server.instance.base.reloads.run()
        self.assertEqual((codes(), self.plans.led), ({401}, 0))


class AuditTests(StateCase):
    """A server with an audit log."""

    more: ClassVar[Mapping[str, Any]] = {}

    def setUp(self) -> None:
        policy = Path(self.mktemp())
        policy.write_text("apiVersion: audit.orch.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
        self.patch(type(self), "more", {"audit_policy_file": policy, "audit_log_path": self.mktemp()})
        super().setUp()

    def test_waits(self) -> None:
        """A request that waits for its first event to be stored meets the rights of the time after it."""
        self.led(DRY[0])
        sink = self.stage("_recorded")._auditor.sink  # noqa: SLF001
        stored: list[Deferred[bool]] = [Deferred()]
        process: Callable[..., Any] = sink.process
        later = lambda *events: stored.pop() if stored else process(*events)  # noqa: E731
        with mock.patch.object(type(sink), "process", side_effect=later):
            waits = stored[0]
            answer, _ = self.begun(DRY[0])
            self.allow({**WRITES, "resources": ["secrets"]})
            self.assertNoResult(answer)
            waits.callback(True)
            self.clock.pump([0.001] * 10)
            self.assertEqual(self.successResultOf(answer).code, 403)


class ForgottenTests(LedCase):
    """Lines whose callers do not come again."""

    def test_dropped(self) -> None:
        """Lines that hold no longer are dropped while others are made, and keep no definition in memory."""
        self.done("POST", DEFINITIONS, definition(colour={"type": "string"}))
        self.clock.pump([1] * 10)
        body = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}, "colour": "red"}
        self.allow(WRITES, {**WRITES, "apiGroups": ["example.com"], "resources": ["lamps"]})
        for agent in range(8):
            self.led(("POST", f"{LAMPS}?dryRun=All", body, "application/json"), user_agent=f"gone-{agent}")
        target = ref(self.server.instance.base.resources.targets.find("example.com", "v1", "lamps"))
        self.done("DELETE", f"{DEFINITIONS}/lamps.example.com")
        self.clock.pump([1] * 10)
        for agent in range(16):
            self.led(DRY[0], user_agent=f"new-{agent}")
        self.assertTrue(all(line.holds() for line in self.plans._lines.values()))  # noqa: SLF001
        gc.collect()
        self.assertIsNone(target())
