"""Faults on demand in the chain of a whole server."""
# covers: orchtw.assembly.faults

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from unittest import mock

from twisted.internet.defer import CancelledError

from orchtw.faults.rules import Strike
from orchtw.faults.tester import TESTER
from orchtw.filters import faults
from orchtw.filters.chain import ORDER
from orchtw.filters.faults import FaultStage
from orchtw.request import Ending, Peer, Request
from orchtw.serving.faulty_watch import PAUSE_S, FaultyWatch
from orchtw.serving.reset import ConnectionReset
from orchtw.testing.in_process import TOKEN
from orchtw.testing.in_process_watch import WatchEnded
from tests.filters.fault_case import RULES, FaultCase
from tests.filters.plan_case import BOB, MAPS
from tests.verbs.served import APPLY, DEFAULT, MERGE

A = f"{MAPS}/a"


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    """A config map with further metadata."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}, "data": {"new": "x"}}


class AnsweredTests(FaultCase):
    """Faults that answer in place of the verb."""

    def test_conflict(self) -> None:
        """An update meets the store's own conflict, as often as the rule says, and is not stored."""
        rule = self.rule(status=409, verb="update", resource="configmaps", times=2)
        for _ in range(2):
            answer = self.refused(409, "Conflict", "PUT", A, config_map())
            expected = 'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
            self.assertTrue(answer.json["message"].startswith(expected))
            self.assertEqual(answer.json["details"], {"name": "a", "kind": "configmaps"})
        self.assertEqual(self.send("GET", A).json["data"], {"is": "a"})
        self.assertEqual(self.done("PUT", A, config_map())["data"], {"new": "x"})
        self.assertEqual(self.counts(rule), (2, 2))
        self.assertRegex(self.shown(rule)["lastStruck"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")

    def test_after(self) -> None:
        """The first matches pass."""
        rule = self.rule(status=409, resource="configmaps", after=1)
        codes = [self.code("PATCH", A, {"data": {"x": str(at)}}, MERGE) for at in range(3)]
        self.assertEqual((codes, self.counts(rule)), ([200, 409, 409], (3, 2)))

    def test_creates(self) -> None:
        """Creates meet a conflict only if the rule names them."""
        self.rule(status=409, resource="configmaps")
        self.done("POST", MAPS, config_map("c"))
        self.rule(status=409, resource="configmaps", verb="create", name="d")
        self.refused(409, "Conflict", "POST", MAPS, config_map("d"))

    def test_expired(self) -> None:
        """Lists and watches are too old, with the texts of each."""
        self.rule(status=410, resource="configmaps")
        answer = self.refused(410, "Expired", "GET", f"{MAPS}?resourceVersion=5")
        self.assertEqual(answer.json["message"], "The resourceVersion for the provided list is too old.")
        answer = self.refused(410, "Expired", "GET", f"{MAPS}?watch=1&resourceVersion=5")
        self.assertEqual(answer.json["message"], "too old resource version: 5 (6)")
        self.done("GET", A)

    def test_throttled(self) -> None:
        """A 429 has the header Retry-After."""
        self.rule(status=429, user="admin", retryAfterSeconds=7, times=1)
        answer = self.refused(429, "TooManyRequests", "GET", A)
        self.assertEqual((answer.headers["retry-after"], answer.json["details"]["retryAfterSeconds"]), ("7", 7))
        self.done("GET", A)

    def test_failing(self) -> None:
        """Failures have the reasons of their codes and a text of the rule's choice."""
        for code, reason in ((500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout")):
            self.rule(status=code, resource="configmaps", times=1, message=f"told {code}")
            self.assertEqual(self.refused(code, reason, "GET", A).json["message"], f"told {code}")

    def test_reset_before(self) -> None:
        """A reset before the write loses the connection, and nothing is stored."""
        rule = self.rule(fault="reset", resource="configmaps", times=1)
        with self.assertRaises(ConnectionReset):
            self.send("PUT", A, config_map())
        self.assertEqual((self.send("GET", A).json["data"], self.counts(rule)), ({"is": "a"}, (1, 1)))

    def test_reset_after(self) -> None:
        """A reset after the write loses the connection, and the write is stored."""
        rule = self.rule(fault="reset", when="after", resource="configmaps", times=1)
        with self.assertRaises(ConnectionReset):
            self.send("PUT", A, config_map())
        self.assertEqual((self.send("GET", A).json["data"], self.counts(rule)), ({"new": "x"}, (1, 1)))

    def test_reset_after_refusal(self) -> None:
        """A write that is refused by itself is answered: the reset waits for one that is stored."""
        rule = self.rule(fault="reset", when="after", resource="configmaps", times=1)
        self.refused(404, "NotFound", "PUT", f"{MAPS}/none", config_map("none"))
        self.assertEqual(self.counts(rule), (1, 0))
        with self.assertRaises(ConnectionReset):
            self.send("DELETE", A)
        self.assertEqual((self.code("GET", A), self.counts(rule)), (404, (2, 1)))


class ChosenTests(FaultCase):
    """Requests that rules choose."""

    def test_user(self) -> None:
        """A rule for a user strikes nobody else, and the impersonated user counts."""
        rule = self.rule(status=503, user="bob")
        self.assertEqual((self.get().code, self.get(token=TOKEN).code), (503, 200))
        self.assertEqual(self.get(token=TOKEN, impersonate_user="bob").code, 503)
        self.assertEqual(self.counts(rule), (2, 2))

    def test_tester(self) -> None:
        """The user of `orchtw.testing` is struck by rules that name it, and uses up no others."""
        headers = {"authorization": f"Bearer {TOKEN}", "impersonate-user": TESTER}
        headers["impersonate-group"] = "system:masters"
        rule = self.rule(status=503, resource="configmaps")
        self.assertEqual(self.send("GET", A, headers=headers).code, 200)
        self.assertEqual(self.counts(rule), (0, 0))
        self.rule(status=500, user=TESTER)
        self.assertEqual(self.send("GET", A, headers=headers).code, 500)

    def test_unauthorized(self) -> None:
        """A user without the right gets 403 and does not use the rule up; one without a token gets 401."""
        rule = self.rule(status=503, resource="configmaps")
        headers = {"authorization": f"Bearer {BOB}"}
        self.assertEqual(self.send("DELETE", A, headers=headers).code, 403)
        self.assertEqual(self.send("GET", A, headers={"authorization": "Bearer wrong"}).code, 401)
        self.assertEqual(self.counts(rule), (0, 0))
        self.assertLess(ORDER.index("authorization"), ORDER.index("faults"))

    def test_never(self) -> None:
        """Health checks, discovery and the endpoint itself are never struck."""
        self.rule(status=500)
        for path in ("/healthz", "/livez", "/readyz", "/metrics", "/version", "/api/v1", "/apis", RULES):
            self.assertEqual(self.code("GET", path), 200, path)
        self.assertEqual(self.code("GET", A), 500)
        self.assertEqual(self.send("DELETE", RULES).json, {"removed": 1})
        self.assertEqual(self.code("GET", A), 200)

    def test_place(self) -> None:
        """Group, resource, sub-resource and namespace choose."""
        self.rule(status=503, group="apps", resource="deployments", subresource="scale")
        self.assertEqual(self.code("GET", "/apis/apps/v1/namespaces/default/deployments/x"), 404)
        self.assertEqual(self.code("GET", "/apis/apps/v1/namespaces/default/deployments/x/scale"), 503)
        self.rule(status=503, resource="secrets", namespace="")
        self.assertEqual((self.code("GET", "secrets"), self.code("GET", "/api/v1/secrets")), (200, 503))

    def test_name_of_create(self) -> None:
        """The name of a create is that in its body, in any format; one that the server makes is not a name."""
        rule = self.rule(status=503, verb="create", name="wanted")
        self.done("POST", MAPS, config_map("other"))
        self.done("POST", MAPS, {"metadata": {"generateName": "wanted"}})
        self.refused(503, "ServiceUnavailable", "POST", MAPS, config_map("wanted"))
        yaml = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wanted}\n"
        self.refused(503, "ServiceUnavailable", "POST", MAPS, yaml, content_type="application/yaml")
        self.assertEqual(self.counts(rule), (2, 2))
        self.assertEqual(self.code("POST", MAPS, b"{"), 400)
        self.assertEqual(self.code("POST", MAPS, b"", {"content-type": "text/plain"}), 415)

    def test_labels(self) -> None:
        """Labels are those of the stored object, and of the body of a create; lists never match."""
        self.done("POST", MAPS, config_map("web", labels={"app": "web"}))
        rule = self.rule(status=503, resource="configmaps", labels="app=web")
        web, unlabelled = f"{MAPS}/web", config_map("web")
        for method, path, body, headers in (
            ("GET", web, None, None), ("PUT", web, unlabelled, None), ("DELETE", web, None, None),
            ("PATCH", web, {"metadata": {"labels": None}}, MERGE), ("PATCH", web, unlabelled, APPLY),
            ("POST", MAPS, config_map("new", labels={"app": "web"}), None),
        ):  # fmt: skip
            self.assertEqual(self.code(method, path, body, headers), 503, (method, path))
        self.assertEqual(self.counts(rule), (6, 6))
        for path in (f"{MAPS}?labelSelector=app%3Dweb", A):
            self.assertEqual(self.code("GET", path), 200, path)
        self.assertEqual(self.code("PUT", A, config_map(labels={"app": "web"})), 200)
        self.assertEqual(self.code("DELETE", f"{MAPS}/none"), 404)
        self.refused(503, "ServiceUnavailable", "GET", A)

    def test_virtual(self) -> None:
        """A resource that is not stored has no labels, and is chosen by everything else."""
        reviews = "/apis/authorization.orch.io/v1/selfsubjectaccessreviews"
        body = {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}}
        self.rule(status=503, verb="create", labels="!app")
        self.refused(503, "ServiceUnavailable", "POST", reviews, body)
        self.send("DELETE", RULES)
        self.rule(status=503, verb="create", labels="app")
        self.done("POST", reviews, body)

    def test_recorded(self) -> None:
        """A fault is noted on its request, in its annotations, and in a metric by kind; later ones join it."""
        self.rule(fault="late", seconds=0.001, resource="configmaps")
        self.rule(status=503, resource="configmaps", user="admin")
        seen: list[Request] = []
        before = FaultStage._before  # noqa: SLF001

        async def noting(stage: FaultStage, request: Request, *rest: Any) -> None:
            seen.append(request)
            await before(stage, request, *rest)

        self.patch(FaultStage, "_before", noting)
        asked = self.begin("GET", A)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(asked).code, 503)
        self.assertEqual([(each.rule, each.kind) for each in seen[0].faults],
                         [("late-1", "late"), ("failing-2", "failing")])  # fmt: skip
        self.assertEqual(seen[0].annotations["faults.orch.io/rule"], "late-1,failing-2")
        self.assertEqual(self.numbers("orchtw_faults"), {
            'orchtw_faults_struck_total{fault="late"}': "1", 'orchtw_faults_struck_total{fault="failing"}': "1",
        })  # fmt: skip


class WaitTests(FaultCase):
    """Faults that make a request wait."""

    def stage(self) -> FaultStage:
        """The stage of the server."""
        return next(stage for stage in self.plans._stages if isinstance(stage, FaultStage))  # noqa: SLF001

    def test_late(self) -> None:
        """A late request is served after its wait, with what is stored then."""
        self.rule(fault="late", seconds=5, verb="get", resource="configmaps")
        asked = self.begin("GET", A)
        self.done("PUT", A, config_map())
        self.clock.advance(4.9)
        self.assertNoResult(asked)
        self.clock.advance(0.2)
        self.assertEqual(self.successResultOf(asked).json["data"], {"new": "x"})

    def test_late_write(self) -> None:
        """A late write is stored after its wait, not before."""
        self.rule(fault="late", seconds=5, verb="update", resource="configmaps")
        asked = self.begin("PUT", A, config_map())
        self.assertEqual(self.send("GET", A).json["data"], {"is": "a"})
        self.clock.advance(5)
        self.turns()
        self.assertEqual(self.successResultOf(asked).code, 200)

    def test_hanging(self) -> None:
        """A hanging request is answered with 504 when its time is over, and is not stored."""
        rule = self.rule(fault="hanging", seconds=30, resource="configmaps", verb="update")
        asked = self.begin("PUT", A, config_map())
        self.clock.advance(29)
        self.assertNoResult(asked)
        self.clock.advance(1)
        answer = self.successResultOf(asked)
        self.assertEqual((answer.code, answer.json["reason"], self.counts(rule)), (504, "Timeout", (1, 1)))
        self.assertEqual(self.send("GET", A).json["data"], {"is": "a"})

    def test_deadline(self) -> None:
        """The time limit of requests ends a longer hang, and no late write comes of it."""
        self.rule(fault="hanging", seconds=600, resource="configmaps")
        for method, body in (("GET", None), ("PUT", config_map())):
            asked = self.begin(method, f"{A}?timeout=10s", body)
            self.clock.advance(10)
            self.assertEqual(self.successResultOf(asked).code, 504)
        self.rule(fault="late", seconds=20, resource="secrets")
        asked = self.begin("POST", f"{DEFAULT}/secrets?timeout=10s", {"metadata": {"name": "s"}})
        self.clock.advance(10)
        self.assertEqual(self.successResultOf(asked).code, 504)
        self.send("DELETE", RULES)
        self.clock.advance(600)
        self.assertEqual((self.code("GET", "secrets/s"), self.send("GET", A).json["data"]), (404, {"is": "a"}))

    def test_client_leaves(self) -> None:
        """A client that leaves ends the wait: a write that has not begun never does."""
        self.rule(fault="hanging", resource="configmaps")
        asked = self.begin("PUT", A, config_map())
        self.assertEqual(len(self.stage()._held), 1)  # noqa: SLF001
        asked.addErrback(lambda failure: failure.trap(CancelledError))
        asked.cancel()
        self.assertEqual(len(self.stage()._held), 0)  # noqa: SLF001
        self.send("DELETE", RULES)
        self.assertEqual(self.send("GET", A).json["data"], {"is": "a"})

    def test_ends_with_client(self) -> None:
        """While it waits, a write ends with its client, as the edge asks."""
        self.rule(fault="late", seconds=5, resource="configmaps")
        headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        request = Request(method="DELETE", path=A, headers=headers, peer=Peer(address="x", port=0))
        asked = self.begun(self.server.instance.front.app(request))
        self.assertTrue(request.ends_with_client)
        self.clock.advance(5)
        self.assertFalse(request.ends_with_client)
        self.turns()
        self.assertEqual(self.successResultOf(asked).code, 200)

    def test_most(self) -> None:
        """Beyond so many waiting requests further ones are served, and give the fault back."""
        rule = self.rule(fault="hanging", resource="configmaps")
        with mock.patch.object(faults, "MOST_WAITING", 1):
            asked = self.begin("GET", A)
            self.done("GET", A)
        self.assertEqual(self.counts(rule), (2, 1))
        self.clock.advance(60)
        self.assertEqual(self.successResultOf(asked).code, 504)

    def test_shutdown(self) -> None:
        """The shutdown of the server lets the waiting go, at once, and removes the rules."""
        self.rule(fault="late", seconds=600, resource="configmaps", verb="get")
        self.rule(fault="hanging", seconds=600, resource="configmaps", verb="list")
        late, hanging = self.begin("GET", A), self.begin("GET", MAPS)
        self.server.instance.lifecycle.begin_shutdown()
        self.assertEqual((self.successResultOf(late).code, self.successResultOf(hanging).code), (200, 504))
        self.assertEqual(self.send("GET", RULES).json, {"rules": []})

    def test_given_back(self) -> None:
        """A fault behind a wait that its client ends has not come about."""
        self.rule(fault="late", seconds=5, resource="configmaps")
        rule = self.rule(status=503, resource="configmaps", times=1)
        asked = self.begin("GET", A)
        asked.addErrback(lambda failure: failure.trap(CancelledError))
        asked.cancel()
        self.assertEqual(self.counts(rule), (1, 0))


class WatchTests(FaultCase):
    """Faults in watches, as their clients see them."""

    def test_expired_in_stream(self) -> None:
        """An ERROR 410 ends the watch after so many events."""
        rule = self.rule(fault="expired", inStream=True, afterEvents=1, resource="configmaps")
        watch = self.watch(f"{MAPS}?watch=1")
        self.assertEqual([self.next(watch), self.next(watch)], [("ADDED", "a"), ("ERROR", "410")])
        self.assertRaises(WatchEnded, self.run_async, watch.next())
        self.assertEqual(self.counts(rule), (1, 1))

    def test_cut(self) -> None:
        """A watch is cut in its second event."""
        rule = self.rule(fault="cut", afterEvents=1, resource="configmaps", times=1)
        watch = self.watch(f"{MAPS}?watch=1")
        self.assertEqual(self.next(watch), ("ADDED", "a"))
        self.clock.advance(PAUSE_S)
        self.assertRaises(WatchEnded, self.run_async, watch.next())
        self.assertEqual(self.counts(rule), (1, 1))
        watch = self.watch(f"{MAPS}?watch=1")
        self.assertEqual([self.next(watch), self.next(watch)], [("ADDED", "a"), ("ADDED", "b")])

    def test_given_back(self) -> None:
        """A watch that ends before its cut gives the fault back to the next one."""
        rule = self.rule(fault="cut", afterEvents=9, resource="configmaps", times=1)
        self.watch(f"{MAPS}?watch=1").close()
        self.assertEqual(self.counts(rule), (1, 0))
        response = self.run_async(self.server._respond("GET", f"{MAPS}?watch=1", None, None))  # noqa: SLF001
        self.assertIs(type(response.stream), FaultyWatch)
        response.drop(Ending.CLIENT_GONE)
        self.assertEqual(self.counts(rule), (2, 0))

    def test_bookmarks(self) -> None:
        """Bookmarks are dropped, and other watches get them."""
        self.rule(fault="bookmarks", user="bob")
        watch = self.watch(f"{MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={self.store.now}")
        self.clock.pump([0.25] * 260)
        self.assertEqual(self.next(watch)[0], "BOOKMARK")

    def test_refused_watch(self) -> None:
        """A watch that is refused by itself gives its faults back."""
        rule = self.rule(fault="cut", resource="configmaps")
        self.assertEqual(self.code("GET", f"{MAPS}?watch=1&labelSelector=%3D"), 400)
        self.assertEqual(self.counts(rule), (1, 0))


class PlanTests(FaultCase):
    """Plans of equal gets, which skip the stages."""

    def test_rule_beside_plan(self) -> None:
        """A rule strikes gets that a plan has answered so far; once it is gone, or used up, plans answer again."""
        self.planned()
        rule = self.rule(status=503, resource="configmaps", verb="get", name="b", times=2)
        self.assertEqual([self.get(f"{MAPS}/{name}").code for name in "abab"], [200, 503, 200, 503])
        self.assertEqual(self.counts(rule), (2, 2))
        for _ in range(40):
            self.assertEqual(self.get(f"{MAPS}/b").code, 200)
        before = self.plans.answered
        self.get(f"{MAPS}/b")
        self.assertEqual(self.plans.answered, before + 1)

    def test_rule_elsewhere(self) -> None:
        """Rules for others leave plans alone, but for the moment of their change."""
        self.planned()
        self.rule(status=503, user="admin")
        self.rule(status=503, resource="secrets")
        before = self.plans.answered
        for _ in range(10):
            self.assertEqual(self.get().code, 200)
        self.assertGreater(self.plans.answered, before + 6)

    def test_waits_for_rule(self) -> None:
        """Each of many equal gets is counted, however often they are repeated."""
        rule = self.rule(status=503, resource="configmaps", after=40, times=1)
        codes = [self.get().code for _ in range(42)]
        self.assertEqual((codes.index(503), self.counts(rule)), (40, (41, 1)))


class OffTests(FaultCase):
    """A server without the flag."""

    more: ClassVar[Mapping[str, Any]] = {}

    def test_off(self) -> None:
        """There is neither a stage, nor an endpoint, nor a metric, nor another verb."""
        self.assertEqual(self.code("GET", RULES), 404)
        self.assertFalse([stage for stage in self.plans._stages if isinstance(stage, FaultStage)])  # noqa: SLF001
        self.assertEqual(self.numbers("orchtw_faults"), {})
        self.assertIsNone(self.server.instance.lifecycle.faults)
        self.planned(f"{A}?resourceVersion=0")


class ProtocolTests(FaultCase):
    """The hook for those who record writes."""

    def test_chosen(self) -> None:
        """A request names the faults chosen for it, also while its write is stored (`Request.faults`)."""
        self.rule(fault="reset", when="after", resource="configmaps")
        with self.assertRaises(ConnectionReset):
            self.send("PUT", A, config_map())
        request = self.plugin.admitted[-1].request
        assert request is not None
        (strike,) = request.faults
        assert isinstance(strike, Strike)
        self.assertEqual((strike.rule, strike.kind), ("reset-1", "reset"))
