"""Plans of equal requests: what is answered by them, and that nothing outlives what they were made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from unittest import mock

from orchtw.filters import plans
from orchtw.filters.plan_keys import PlanKeys
from orchtw.request import Peer, Request
from orchtw.testing.in_process import TOKEN
from orchtw.wire.objects import Object
from tests.filters.plan_case import BOB, MAPS, RBAC, READS, PlanCase
from tests.verbs.served import DEFAULT, MERGE

FLOWS = "/apis/flowcontrol.apiserver.orch.io/v1beta2"
DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions"
LAMPS = "/apis/example.com/v1/namespaces/default/lamps"


def schema(**properties: Object) -> Object:
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


def definition(**properties: Object) -> Object:
    """The definition of lamps, whose fields are not cut away if they are given."""
    version = {"name": "v1", "served": True, "storage": True, "schema": schema(**properties)}
    names = {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "lamps.example.com"}, "spec": spec}


class PlannedTests(PlanCase):
    """Answers of plans (`Plans`)."""

    def test_third_request(self) -> None:
        """The second equal request makes a plan, which answers the third as it was answered before."""
        first, second = self.get(), self.get()
        self.assertEqual((self.plans.answered, self.metric("orchtw_request_plans")), (0, 1))
        third = self.get()
        self.assertEqual(self.plans.answered, 1)
        for answer in (first, second):
            self.assertEqual((answer.code, answer.body), (third.code, third.body))
            ids = {"audit-id": ""}
            self.assertEqual(list({**answer.headers, **ids}.items()), list({**third.headers, **ids}.items()))
            self.assertNotEqual(answer.headers["audit-id"], third.headers["audit-id"])

    def test_other_name(self) -> None:
        """A plan answers for all names of a collection, as they are now."""
        self.planned()
        self.assertEqual(self.get(f"{MAPS}/b").json["data"], {"is": "b"})
        self.done("PATCH", f"{MAPS}/b", {"data": {"is": "changed"}}, MERGE)
        self.assertEqual(self.get(f"{MAPS}/b").json["data"], {"is": "changed"})
        self.assertEqual(self.plans.answered, 3)

    def test_missing(self) -> None:
        """A request for an object that is not there goes the whole way, and leaves the plan."""
        self.planned()
        self.assertEqual(self.get(f"{MAPS}/none").code, 404)
        self.done("DELETE", f"{MAPS}/a")
        self.assertEqual(self.get().code, 404)
        self.assertEqual((self.get(f"{MAPS}/b").code, self.plans.answered), (200, 2))

    def test_formats(self) -> None:
        """Each form of answer has a plan of its own, where the cache has its bytes."""
        protobuf = "application/vnd.orch.protobuf"
        whole = self.get(accept=protobuf)
        self.assertEqual(self.planned(accept=protobuf).body, whole.body)
        self.assertEqual(whole.headers["content-type"], protobuf)
        for accept in ("application/yaml", "application/json;as=Table;g=meta.orch.io;v=v1"):
            before = self.plans.answered
            self.assertEqual({self.get(accept=accept).code for _ in range(4)}, {200})
            self.assertEqual(self.plans.answered, before)

    def test_versions_asked_for(self) -> None:
        """A version that the cache has yet to reach is waited for, plan or not."""
        self.planned(f"{MAPS}/a?resourceVersion=0")
        self.planned(f"{MAPS}/a?resourceVersion=1")
        with mock.patch.object(self.store, "current", lambda: False):
            before = self.plans.answered
            self.assertEqual(self.get().code, 200)
            self.assertEqual(self.plans.answered, before)

    def test_unplanned(self) -> None:
        """Requests of other kinds go the whole way, however often they come."""
        paths = (DEFAULT, "/version", "/api/v1", f"{MAPS}/a/", f"{DEFAULT}//configmaps/a", f"{MAPS}/%61", f"{MAPS}/.",
                 "/api/v1/namespaces/default/status", "/api/v1/nodes/a/proxy",
                 f"{MAPS}?limit=1&continue=x", f"{MAPS}/a/none", "/api/v1/none", "/api/v1/pods/a")  # fmt: skip
        for path in paths:
            for _ in range(4):
                self.get(path, TOKEN)
        for headers in ({"audit_id": "mine"}, {"impersonate_user": "bob"}):
            for _ in range(4):
                self.get(token=TOKEN, **headers)
        for _ in range(4):
            self.send("HEAD", f"{MAPS}/a")
        self.assertEqual((self.plans.answered, self.plans.led, self.metric("orchtw_request_plans")), (0, 0, 0))

    def test_tried_again(self) -> None:
        """Planning is retried ever more rarely; after a plan was dropped, at the next request."""
        with mock.patch.object(self.plans, "_made", return_value=None) as made:
            for _ in range(33):
                self.get()
        self.assertEqual(made.call_count, 5)  # of requests 2, 4, 8, 16 and 32
        for _ in range(31):
            self.get()
        self.assertEqual((self.plans.answered, self.metric("orchtw_request_plans")), (0, 1))
        self.done("DELETE", f"/apis/{RBAC}/v1/clusterroles/view")
        for _ in range(3):
            self.get()
        self.assertEqual(self.plans.answered, 2)

    def test_callers(self) -> None:
        """A plan is for the very same headers, address and certificate."""
        keys = PlanKeys()

        def key(path: str = f"{MAPS}/a", address: str = "a", **headers: str) -> object:
            return keys.of(Request(method="GET", path=path, headers=headers, peer=Peer(address=address, port=1)))

        self.assertEqual(key(authorization="x"), key(authorization="x", path=f"{MAPS}/b"))
        others = [key(authorization="y"), key(authorization="x", accept=""), key(authorization="x", address="b"),
                  key(authorization="x", path=f"{DEFAULT}/pods/a"), key()]  # fmt: skip
        self.assertEqual(len({key(authorization="x"), *others}), len(others) + 1)

    def test_bounded(self) -> None:
        """Plans, and what is known of their callers, are bounded in number and bytes; the oldest go."""
        self.planned()
        size = self.metric("orchtw_request_plan_bytes")
        self.assertGreater(size, plans.PLAN_BYTES)
        with mock.patch.object(plans, "MOST_BYTES", int(2.5 * size)):
            for agent in ("x", "y", "z"):
                self.planned(user_agent=agent)
        self.assertEqual(self.metric("orchtw_request_plans"), 2)
        self.assertLessEqual(self.metric("orchtw_request_plan_bytes"), 2.5 * size)

    def test_fault(self) -> None:
        """A plan that fails is dropped; the request is answered the whole way, and a new plan is made of it."""
        self.planned()
        with mock.patch.object(self.plans, "_seconds", mock.Mock(side_effect=RuntimeError)):
            self.assertEqual(self.get().code, 200)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        before = self.plans.answered
        self.assertEqual((self.get().code, self.plans.answered), (200, before + 1))

    def test_no_seat(self) -> None:
        """A request without a free seat, or before its turn, goes the whole way; the plan stays."""
        self.planned()
        flows = next(stage for stage in self.plans._stages if hasattr(stage, "_control"))._control  # noqa: SLF001
        peer, headers = Peer(address="test", port=0), {"authorization": f"Bearer {BOB}"}
        request = Request(method="GET", path=f"{MAPS}/a", headers=headers, peer=peer)
        level = flows.live.levels["global-default"].seating
        self.assertTrue(level.roomy)
        with mock.patch.object(level, "_common", 0):
            self.assertIsNone(self.plans.at_once(request))
        with mock.patch.object(flows.starts, "_begun", 10_000), mock.patch.object(flows.starts, "_end", -1.0):
            self.assertIsNone(self.plans.at_once(request))
        self.assertIsNotNone(self.plans.at_once(request))

    def test_log(self) -> None:
        """From the verbosity on that logs requests, all of them go the whole way."""
        self.planned()
        stage = next(each for each in self.plans._stages if hasattr(each, "_verbosity"))  # noqa: SLF001
        stage._verbosity.level = 3  # noqa: SLF001
        before = self.plans.answered
        self.assertEqual((self.get().code, self.plans.answered), (200, before))


class EndTests(PlanCase):
    """The end of a server that sends clients elsewhere."""

    more: ClassVar[Mapping[str, Any]] = {"shutdown_send_retry_after": True}

    def test_closed_doors(self) -> None:
        """A request with a plan is turned away as well."""
        self.planned()
        self.server.instance.lifecycle.close_doors()
        self.assertEqual(self.get().code, 429)


class MaxInFlightTests(PlanCase):
    """A server without priority and fairness, whose connections are closed now and then."""

    more: ClassVar[Mapping[str, Any]] = {
        "enable_priority_and_fairness": False, "max_requests_inflight": 2, "goaway_chance": 0.02
    }  # fmt: skip

    def stage(self, attribute: str) -> Any:
        """The stage with this attribute."""
        return next(stage for stage in self.plans._stages if hasattr(stage, attribute))  # noqa: SLF001

    def test_limit(self) -> None:
        """As many requests as allowed are in flight: the next one goes the whole way, and is refused there."""
        self.stage("_chance")._random = lambda: 0.5  # noqa: SLF001  # no answer is the last of its connection
        self.planned()
        mark = self.stage("_in_flight")._in_flight.executing["readOnly"]  # noqa: SLF001
        peak, before = mark.marks.high, self.plans.answered
        mark.count = 1
        self.assertEqual((self.get().code, mark.count, mark.marks.high), (200, 1, max(peak, 2)))
        mark.count = 2
        self.assertEqual((self.get().code, self.plans.answered), (429, before + 1))

    def test_last_answer(self) -> None:
        """The dice are thrown for each request."""
        stage = self.stage("_chance")
        stage._random = lambda: 0.5  # noqa: SLF001
        self.planned()
        headers, peer = {"authorization": f"Bearer {BOB}"}, Peer(address="test", port=0)
        for stage._random, last in ((lambda: 0.5, False), (lambda: 0.01, True)):  # noqa: SLF001
            response = self.plans.at_once(Request(method="GET", path=f"{MAPS}/a", headers=headers, peer=peer))
            assert response is not None
            self.assertEqual(response.last, last)


class RevokedTests(PlanCase):
    """The next request after a change is answered anew."""

    def changed(self, change: Callable[[], object], code: int, path: str = f"{MAPS}/a", token: str = BOB) -> None:
        """Assert that a get with a plan has another answer after a change, from the first request on."""
        self.planned(path, token)
        change()
        self.assertEqual([self.get(path, token).code for _ in range(3)], [code] * 3)

    def test_token_file(self) -> None:
        """A token that has left the file is refused once the file has been read again."""
        self.changed(lambda: self.give_tokens(""), 401)

    def test_other_user(self) -> None:
        """A token that belongs to somebody else now has that user's rights."""
        self.changed(lambda: self.give_tokens(f"{BOB},eve,eve,dev\n"), 403)

    def test_binding(self) -> None:
        """A binding that is removed takes its rights along."""
        self.changed(lambda: self.done("DELETE", f"/apis/{RBAC}/v1/clusterrolebindings/reads"), 403)

    def test_role(self) -> None:
        """A role that is changed allows what it says now."""
        rules = [{**READS, "resources": ["secrets"]}]
        change = {"rules": rules}
        self.changed(lambda: self.done("PATCH", f"/apis/{RBAC}/v1/clusterroles/reads", change, MERGE), 403)

    def test_names(self) -> None:
        """Rights to objects of some names make no plan, for the plan would answer for others."""
        rules = {"rules": [{**READS, "resourceNames": ["a"]}]}
        self.done("PATCH", f"/apis/{RBAC}/v1/clusterroles/reads", rules, MERGE)
        self.assertEqual({self.get().code for _ in range(4)}, {200})
        self.assertEqual((self.plans.answered, self.get(f"{MAPS}/b").code), (0, 403))

    def test_account(self) -> None:
        """A service account's token ends with the account, and does not apply to a new one of its name."""
        account = f"{DEFAULT}/serviceaccounts/bot"
        token = self.account_token()
        self.changed(lambda: self.done("DELETE", account), 401, token=token)
        self.done("POST", f"{DEFAULT}/serviceaccounts", {"metadata": {"name": "bot"}})
        self.assertEqual(self.get(token=token).code, 401)

    def test_bound_object(self) -> None:
        """A token that is bound to a pod ends with the pod."""
        pods = f"{DEFAULT}/pods"
        spec = {"serviceAccountName": "bot", "containers": [{"name": "c", "image": "i"}]}
        self.done("POST", pods, {"metadata": {"name": "p"}, "spec": spec})
        token = self.account_token(kind="Pod", apiVersion="v1", name="p")
        self.changed(lambda: self.done("DELETE", f"{pods}/p?gracePeriodSeconds=0"), 401, token=token)

    def test_account_changed(self) -> None:
        """A change of the account that keeps its uid keeps the plan."""
        token = self.account_token()
        self.planned(token=token)
        self.done("PATCH", f"{DEFAULT}/serviceaccounts/bot", {"metadata": {"labels": {"x": "y"}}}, MERGE)
        before = self.plans.answered
        self.assertEqual((self.get(token=token).code, self.plans.answered), (200, before + 1))

    def test_expiry(self) -> None:
        """A token's last moment is looked at for every request."""
        token = self.account_token()
        sources = self.server.instance.authenticator.tokens._asked  # type: ignore[attr-defined]  # noqa: SLF001
        accounts = next(each for each in sources if hasattr(each, "_seconds"))
        later = accounts._seconds() + 4000.0  # noqa: SLF001
        self.changed(lambda: self.patch(accounts, "_seconds", lambda: later), 401, token=token)

    def test_flow_schema(self) -> None:
        """A request belongs to the flow schema that takes it now."""
        before = self.planned().headers["x-orch-pf-flowschema-uid"]
        subject = {"kind": "User", "user": {"name": "bob"}}
        rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
        spec = {
            "matchingPrecedence": 2,
            "priorityLevelConfiguration": {"name": "workload-low"},
            "rules": [{"subjects": [subject], "resourceRules": [rule]}],
        }
        made = self.done("POST", f"{FLOWS}/flowschemas", {"metadata": {"name": "bobs"}, "spec": spec})
        for _ in range(4):
            after = self.get().headers["x-orch-pf-flowschema-uid"]
            self.assertEqual((after, after == before), (made["metadata"]["uid"], False))

    def test_definition(self) -> None:
        """Custom resources are shown as their definition says now, and are gone with it."""
        self.done("POST", DEFINITIONS, definition(colour={"type": "string"}))
        self.clock.pump([1] * 10)
        body = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}, "colour": "red"}
        self.done("POST", LAMPS, body)
        self.assertEqual(self.planned(f"{LAMPS}/a", TOKEN).json["colour"], "red")
        self.done("PATCH", f"{DEFINITIONS}/lamps.example.com", definition(size={"type": "string"}), MERGE)
        self.clock.pump([1] * 10)
        self.plans.on = False
        whole = self.get(f"{LAMPS}/a", TOKEN)
        self.plans.on = True
        self.assertEqual([self.get(f"{LAMPS}/a", TOKEN).body for _ in range(4)], [whole.body] * 4)
        self.done("DELETE", f"{DEFINITIONS}/lamps.example.com")
        self.clock.pump([1] * 10)
        self.assertEqual([self.get(f"{LAMPS}/a", TOKEN).code for _ in range(3)], [404] * 3)
