"""Short lines: the requests that they lead, and that nothing outlives what they were made from."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from typing import Any, ClassVar
from unittest import mock

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from orchtw.filters import plans
from orchtw.filters.plan_keys import PlanKeys
from orchtw.outbound.caller import Caller, CallFailed
from orchtw.request import Peer, Request, Response, SameHead
from orchtw.rules.request_info import parse
from orchtw.testing.in_process import TOKEN, ClientAnswer
from orchtw.wire.objects import Object
from tests.filters.plan_case import BOB, MAPS, RBAC, READS, PlanCase
from tests.filters.test_plan_keys import NAMES, PATHS
from tests.filters.test_plans import DEFINITIONS, FLOWS, LAMPS, definition
from tests.properties import examples
from tests.verbs.served import DEFAULT, MERGE

WRITES: Object = {**READS, "verbs": ["get", "list", "create", "update", "patch", "delete"]}
ROLE, BINDING = f"/apis/{RBAC}/v1/clusterroles/reads", f"/apis/{RBAC}/v1/clusterrolebindings"
WEBHOOKS = "/apis/admissionregistration.orch.io/v1/validatingwebhookconfigurations"
APPLY = "application/apply-patch+yaml"

Asked = tuple[str, str, Any, str]
"""Method, URL, body and content type."""

DRY: Sequence[Asked] = (
    ("PUT", f"{MAPS}/a?dryRun=All", {"metadata": {"name": "a"}, "data": {"is": "put"}}, "application/json"),
    ("PATCH", f"{MAPS}/b?dryRun=All", {"data": {"is": "patched"}}, MERGE["content-type"]),
    ("PATCH", f"{MAPS}/b?dryRun=All&fieldManager=x",
     {"apiVersion": "v1", "kind": "ConfigMap", "data": {"new": "applied"}}, APPLY),
    ("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "c"}}, "application/json"),
    ("DELETE", f"{MAPS}/a?dryRun=All", None, "application/json"),
    ("GET", f"{MAPS}?limit=2", None, "application/json"),
    ("GET", f"{MAPS}?labelSelector=x", None, "application/json"),
)  # fmt: skip
"""Requests that change nothing, by all verbs that are led."""


class LedCase(PlanCase):
    """Bob may write config maps too."""

    def setUp(self) -> None:
        super().setUp()
        self.allow(WRITES)

    def allow(self, *rules: Object) -> None:
        """Have bob's role say this."""
        self.done("PATCH", ROLE, {"rules": list(rules)}, MERGE)

    def ask(self, asked: Asked, token: str = BOB, **headers: str) -> ClientAnswer:
        """The answer to a request."""
        method, url, body, content_type = asked
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.send(
            method, url, body, {"authorization": f"Bearer {token}", "content-type": content_type, **named}
        )

    def led(self, asked: Asked, token: str = BOB, **headers: str) -> ClientAnswer:
        """The answer to a request that a short line leads."""
        for _ in range(2):
            self.ask(asked, token, **headers)
        before = self.plans.led
        answer = self.ask(asked, token, **headers)
        self.assertEqual((answer.code < 400, self.plans.led), (True, before + 1), (asked, answer.body))
        return answer

    def whole(self, asked: Asked, token: str = BOB) -> ClientAnswer:
        """The answer of the whole line."""
        self.plans.on = False
        answer = self.ask(asked, token)
        self.plans.on = True
        return answer


class ShortLineTests(LedCase):
    """Requests on short lines."""

    def test_verbs(self) -> None:
        """The third request of each verb is led, and answered as along the whole line."""
        for asked in DRY:
            led, whole = self.led(asked), self.whole(asked)
            self.assertEqual((led.code, shown(led)), (whole.code, shown(whole)))
            self.assertEqual(list({**led.headers, "audit-id": ""}), list({**whole.headers, "audit-id": ""}))

    def test_names(self) -> None:
        """A line leads requests for all names of a collection, each with its own name and body."""
        self.led(DRY[0])
        before = self.plans.led
        for number in range(3):
            body: Object = {"metadata": {"name": "b"}, "data": {"is": str(number)}}
            self.assertEqual(self.ask(("PUT", f"{MAPS}/b?dryRun=All", body, DRY[0][3])).json["data"], body["data"])
        self.assertEqual(self.ask(("PUT", f"{MAPS}/b?dryRun=All", {"metadata": {"name": "a"}}, DRY[0][3])).code, 400)
        self.assertEqual(self.plans.led, before + 4)

    def test_refusals(self) -> None:
        """Refusals of the verb are those of the whole line, and leave the short one."""
        self.led(DRY[0])
        body: Any
        for body in ({"metadata": {"name": "a", "resourceVersion": "1"}}, {"data": 1}, b"{", {"metadata": {}}):
            asked = "PUT", f"{MAPS}/a?dryRun=All", body, DRY[0][3]
            led, whole = self.ask(asked), self.whole(asked)
            self.assertEqual((led.code, led.body), (whole.code, whole.body))
            self.assertGreaterEqual(led.code, 400)
        before = self.plans.led
        self.assertEqual((self.ask(DRY[0]).code, self.plans.led), (200, before + 1))

    def test_get_without_plan(self) -> None:
        """A get that no plan can answer is led; once one can, it has no line any more."""
        table: Asked = ("GET", f"{MAPS}/a", None, "application/json")
        self.led(table, accept="application/json;as=Table;g=meta.orch.io;v=v1")
        missing: Asked = ("GET", f"{MAPS}/c", None, "application/json")
        for _ in range(3):
            self.assertEqual(self.ask(missing).code, 404)
        self.done("POST", MAPS, {"metadata": {"name": "c"}})
        answered = self.plans.answered
        self.assertEqual({self.ask(missing).code for _ in range(8)}, {200})
        self.assertGreater(self.plans.answered, answered)

    def test_lengths(self) -> None:
        """Bodies of other lengths are of one caller; other headers are not."""
        keys = PlanKeys()

        def key(**headers: str) -> object:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            return keys.place(Request(method="PUT", path=f"{MAPS}/a", headers=named, peer=Peer(address="", port=0)))

        self.assertEqual(key(content_length="1", accept="x"), key(content_length="22", accept="x"))
        self.assertNotEqual(key(content_length="1", accept="x"), key(content_length="1", accept="y"))

    def test_unled(self) -> None:
        """Impersonated requests, those that come with an audit id, and namespaces take the whole line."""
        for headers in ({"impersonate_user": "bob"}, {"audit_id": "mine"}):
            for _ in range(4):
                self.assertEqual(self.ask(DRY[0], TOKEN, **headers).code, 200)
        for _ in range(4):
            self.ask(("PATCH", f"{DEFAULT}?dryRun=All", {"metadata": {"labels": {"x": "y"}}}, DRY[1][3]), TOKEN)
            self.ask(("DELETE", f"{MAPS}?dryRun=All", None, DRY[0][3]), TOKEN)
        self.assertEqual(self.plans.led, 0)

    def test_full(self) -> None:
        """A request that finds no seat waits, and then meets the rest of the whole line."""
        self.led(DRY[0])
        stage = next(each for each in self.plans._stages if hasattr(each, "_control"))  # noqa: SLF001
        level = stage._control.live.levels["global-default"].seating  # noqa: SLF001
        found: list[Response] = []
        headers = {"authorization": f"Bearer {BOB}", "content-type": "application/json"}
        request = Request(method="PUT", path=f"{MAPS}/a", query="dryRun=All", headers=headers,
                          body=b'{"metadata":{"name":"a"}}', peer=Peer(address="test", port=0))  # fmt: skip
        seats = []
        while pool := level.take(flow := mock.Mock(seats=0), 1):
            seats.append((flow, pool))
        before = self.plans.led
        Deferred.fromCoroutine(self.plans(request)).addCallback(found.append)
        self.assertEqual((self.plans.led, found), (before + 1, []))
        self.allow(READS)
        for flow, pool in seats:
            if level.give(flow, 1, pool, None, 0.001):
                stage._control.starts.freed(level)  # noqa: SLF001
        self.clock.pump([0.001] * 10)
        self.assertEqual([each.code for each in found], [403])

    def test_bounded(self) -> None:
        """Lines count among the plans, in number and bytes; the oldest go, and a gauge shows both."""
        self.plans._lines.clear()  # noqa: SLF001
        self.plans._bytes = 0  # noqa: SLF001
        self.led(DRY[0])
        size = self.metric("orchtw_request_plan_bytes")
        with mock.patch.object(plans, "MOST_BYTES", int(2.5 * size)):
            for agent in ("x", "y", "z"):
                self.led(DRY[0], user_agent=agent)
            self.assertEqual(self.metric("orchtw_request_plans"), 2)
            self.assertLessEqual(self.metric("orchtw_request_plan_bytes"), 2.5 * size)

    def test_size(self) -> None:
        """A line takes no more memory than is counted for it."""
        for agent in range(20):
            self.led(DRY[0], user_agent=f"warm-{agent}")
        lines, self.plans._lines = self.plans._lines, {}  # noqa: SLF001
        counted = sum(line.size for line in lines.values())
        self.plans._asked.clear()  # noqa: SLF001
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for agent in range(50):
                self.led(DRY[0], user_agent=f"agent-{agent}")
            gc.collect()
            held = tracemalloc.get_traced_memory()[0]
            kept = len(self.plans._lines)  # noqa: SLF001
            self.plans._lines.clear()  # noqa: SLF001
            gc.collect()
            freed = held - tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        self.assertEqual(kept, 50)
        self.assertGreater(held, before)
        self.assertLess(freed / kept, counted / len(lines))

    def test_fault(self) -> None:
        """A line that fails is dropped, and the request takes the whole one; one that cannot be made is logged."""
        self.led(DRY[0])
        found = chain([RuntimeError], repeat(True))
        with mock.patch("orchtw.filters.short_lines.ShortLine.holds", side_effect=found):
            self.assertEqual(self.ask(DRY[0]).code, 200)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        with mock.patch.object(self.plans._short_lines, "made", side_effect=RuntimeError):  # noqa: SLF001
            for _ in range(2):
                self.assertEqual(self.ask(DRY[1]).code, 200)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_same_head(self) -> None:
        """The caller that the edge knows again is not looked up by its headers."""
        keys, same = PlanKeys(), SameHead({"x": "y"})
        request = Request(method="PUT", path=f"{MAPS}/a", headers={"x": "y"}, peer=Peer(address="", port=0),
                          same_head=same)  # fmt: skip
        found = keys.place(request)
        assert found is not None
        self.assertIs(same.caller, found[0][0])
        self.assertEqual(keys.place(request), found)

    @given(PATHS, NAMES)
    @examples(400)
    def test_places(self, path: str, name: str) -> None:
        """Requests with one place and different names in their paths differ in nothing else."""
        keys = PlanKeys()
        found = keys.place(Request(method="PUT", path=path, peer=Peer(address="", port=0)))
        if found is None:
            return
        (_, _, before, after, _), own = found
        info = parse("PUT", path, {})
        if after is None:
            self.assertEqual((before, own), (path, ""))
        elif info.verb == "update" and info.resource != "namespaces":
            other = parse("PUT", f"{before}{name}{after}", {})
            self.assertEqual(
                (other.verb, other.group, other.version, other.namespace, other.resource, other.subresource),
                (info.verb, info.group, info.version, info.namespace, info.resource, info.subresource),
            )
            self.assertEqual((info.name, other.name, other.exact), (own, name, True))
            self.assertEqual(other.parts, (info.resource, name, *info.parts[2:]))


class ChangedTests(LedCase):
    """The next request after a change is judged anew."""

    def changed(self, change: Callable[[], object], code: int, token: str = BOB) -> None:
        """Assert that requests of all verbs with short lines have another answer after a change, from the first."""
        for asked in DRY:
            self.led(asked, token)
        change()
        for asked in DRY:
            self.assertEqual([self.ask(asked, token).code for _ in range(3)], [code] * 3, asked)

    def test_token_file(self) -> None:
        """A token that has left the file is refused once the file has been read again."""
        self.changed(lambda: self.give_tokens(""), 401)

    def test_other_user(self) -> None:
        """A token that belongs to somebody else now has that user's rights."""
        self.changed(lambda: self.give_tokens(f"{BOB},eve,eve,dev\n"), 403)

    def test_cluster_role(self) -> None:
        """A role that is changed allows what it says now."""
        self.changed(lambda: self.allow({**WRITES, "resources": ["secrets"]}), 403)

    def test_cluster_role_binding(self) -> None:
        """A binding that is removed takes its rights along."""
        self.changed(lambda: self.done("DELETE", f"{BINDING}/reads"), 403)

    def test_role_binding(self) -> None:
        """A binding in the namespace counts as long as it is there."""
        self.done("DELETE", f"{BINDING}/reads")
        bindings = f"/apis/{RBAC}/v1/namespaces/default/rolebindings"
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reads"}
        subject = {"kind": "User", "name": "bob", "apiGroup": RBAC}
        self.done("POST", bindings, {"metadata": {"name": "here"}, "roleRef": role, "subjects": [subject]})
        self.changed(lambda: self.done("DELETE", f"{bindings}/here"), 403)

    def test_account(self) -> None:
        """A service account's token ends with the account."""
        token = self.account_token()
        self.changed(lambda: self.done("DELETE", f"{DEFAULT}/serviceaccounts/bot"), 401, token)

    def test_names(self) -> None:
        """Rights to objects of some names are looked up for each request of a line."""
        self.allow({**WRITES, "resourceNames": ["a"]})
        self.led(DRY[0])
        other: Asked = ("PUT", f"{MAPS}/b?dryRun=All", {"metadata": {"name": "b"}}, DRY[0][3])
        before = self.plans.led
        self.assertEqual([self.ask(each).code for each in (other, DRY[0], other)], [403, 200, 403])
        self.assertEqual(self.plans.led, before + 3)
        self.allow({**WRITES, "resourceNames": ["b"]})
        self.assertEqual([self.ask(each).code for each in (other, DRY[0])], [200, 403])

    def test_flow_schema(self) -> None:
        """A request belongs to the flow schema that takes it now."""
        before = self.led(DRY[0]).headers["x-orch-pf-flowschema-uid"]
        rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
        spec = {
            "matchingPrecedence": 2,
            "priorityLevelConfiguration": {"name": "workload-low"},
            "rules": [{"subjects": [{"kind": "User", "user": {"name": "bob"}}], "resourceRules": [rule]}],
        }
        made = self.done("POST", f"{FLOWS}/flowschemas", {"metadata": {"name": "bobs"}, "spec": spec})
        for _ in range(4):
            after = self.ask(DRY[0]).headers["x-orch-pf-flowschema-uid"]
            self.assertEqual((after, after == before), (made["metadata"]["uid"], False))

    def test_forgotten_flow(self) -> None:
        """A flow that is no longer kept is found anew, so that a user's requests count as those of one flow."""
        self.led(DRY[0])
        stage = next(each for each in self.plans._stages if hasattr(each, "_control"))  # noqa: SLF001
        stage._control.live.state._flows.clear()  # noqa: SLF001
        before = self.plans.led
        self.assertEqual((self.ask(DRY[0]).code, self.plans.led), (200, before))

    def test_definition(self) -> None:
        """Custom resources are checked by their definition as it is now, and are gone with it."""
        self.done("POST", DEFINITIONS, definition(colour={"type": "string"}))
        self.clock.pump([1] * 10)
        body = {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": "a"}, "colour": "red"}
        asked: Asked = ("POST", f"{LAMPS}?dryRun=All", body, "application/json")
        self.assertEqual(self.led(asked, TOKEN).json["colour"], "red")
        self.done("PATCH", f"{DEFINITIONS}/lamps.example.com", definition(colour={"type": "integer"}), MERGE)
        self.clock.pump([1] * 10)
        self.assertEqual([self.ask(asked, TOKEN).code for _ in range(3)], [422] * 3)
        self.done("DELETE", f"{DEFINITIONS}/lamps.example.com")
        self.clock.pump([1] * 10)
        self.assertEqual([self.ask(asked, TOKEN).code for _ in range(3)], [404] * 3)

    def test_webhook(self) -> None:
        """A webhook is asked about the first request after its configuration, and no more once that is gone."""
        rule = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        hook = {
            "name": "no.example.com", "rules": [rule], "clientConfig": {"url": "https://127.0.0.1:1"},
            "admissionReviewVersions": ["v1"], "failurePolicy": "Fail", "sideEffects": "None",
        }  # fmt: skip
        self.led(DRY[0])
        self.done("POST", WEBHOOKS, {"metadata": {"name": "no"}, "webhooks": [hook]})
        with mock.patch.object(Caller, "_open", side_effect=CallFailed("gone")):
            for _ in range(3):
                self.assertIn("no.example.com", self.ask(DRY[0]).json["message"])
        self.done("DELETE", f"{WEBHOOKS}/no")
        self.assertEqual([self.ask(DRY[0]).code for _ in range(3)], [200] * 3)

    def test_namespace(self) -> None:
        """Nothing is created in a namespace from its deletion on."""
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "short"}})
        asked: Asked = ("POST", "/api/v1/namespaces/short/configmaps?dryRun=All", DRY[3][2], DRY[3][3])
        self.led(asked)
        self.done("DELETE", "/api/v1/namespaces/short")
        self.assertEqual([self.ask(asked).code for _ in range(3)], [403] * 3)


class EndTests(LedCase):
    """The end of a server that sends clients elsewhere."""

    more: ClassVar[Mapping[str, Any]] = {"shutdown_send_retry_after": True}

    def test_closed_doors(self) -> None:
        """A request whose line is known is turned away as well."""
        self.led(DRY[0])
        self.server.instance.lifecycle.close_doors()
        self.assertEqual(self.ask(DRY[0]).code, 429)


class CertificateTests(LedCase):
    """Client certificates on short lines."""

    def test_expiry(self) -> None:
        """A certificate is refused from its last moment on, and one of another authority at once."""
        method: Any = self.server.instance.authenticator._asked[0]  # noqa: SLF001
        certificate, later_s, seconds = of_user("bob"), [0.0], method._seconds  # noqa: SLF001
        self.patch(method, "_seconds", lambda: seconds() + later_s[-1])
        peer = Peer(address="test", port=0, certificate=certificate, verified=True)

        def code(peer: Peer) -> int:
            request = Request(method="PUT", path=f"{MAPS}/a", query="dryRun=All", peer=peer,
                              headers={"content-type": "application/json"}, body=b'{"metadata":{"name":"a"}}')
            return self.run_async(self.plans(request)).code

        self.assertTrue(hasattr(method, "_known"))
        self.assertEqual([code(peer) for _ in range(3)], [200] * 3)
        self.assertEqual(self.plans.led, 1)
        # After a change of the authorities the handshakes of new connections say so.
        stranger = Peer(address="test", port=0, certificate=certificate, verified=False)
        self.assertEqual(code(stranger), 401)
        later_s.append(10_000.0)
        self.assertEqual([code(peer) for _ in range(2)], [401] * 2)


class RandomTests(LedCase):
    """Requests and changes in any order."""

    more: ClassVar[Mapping[str, Any]] = {}

    def test_any_order(self) -> None:
        """Whatever has changed before, a request is answered as along the whole line."""
        hidden = {"rules": [{**WRITES, "verbs": ["get"]}]}
        subject = {"kind": "User", "name": "bob", "apiGroup": RBAC}
        changes: Sequence[Callable[[], object]] = (
            lambda: self.allow(WRITES),
            lambda: self.send("PATCH", ROLE, hidden, MERGE),
            lambda: self.allow({**WRITES, "resourceNames": ["a"]}),
            lambda: self.send("DELETE", f"{BINDING}/reads"),
            lambda: self.send("POST", BINDING, {
                "metadata": {"name": "reads"}, "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reads"},
                "subjects": [subject]}),
            lambda: self.give_tokens(f"{BOB},bob,bob,dev\n"),
            lambda: self.give_tokens(f"{BOB},eve,eve,dev\n"),
            lambda: self.give_tokens(""),
        )  # fmt: skip
        steps = st.lists(
            st.one_of(st.sampled_from(range(len(DRY))), st.sampled_from(range(-len(changes), 0))),
            min_size=10, max_size=40,
        )  # fmt: skip
        codes: set[int] = set()

        @given(steps)
        @examples(25)
        def judged(steps: list[int]) -> None:
            for step in steps:
                if step < 0:
                    changes[step]()
                    continue
                answer, whole = self.ask(DRY[step]), self.whole(DRY[step])
                self.assertEqual((answer.code, shown(answer)), (whole.code, shown(whole)), DRY[step])
                codes.add(answer.code)

        judged()
        self.assertEqual(codes & {401, 403}, {401, 403})
        self.assertGreater(self.plans.led, 30)


def shown(answer: ClientAnswer) -> object:
    """The object of an answer but for what no two dry runs share."""
    found = answer.json
    if answer.code < 400 and "metadata" in found:
        for name in ("uid", "creationTimestamp", "managedFields"):
            found["metadata"].pop(name, None)
    return found


def of_user(name: str) -> x509.Certificate:
    """Return a certificate of a user, signed by its own key, for an hour."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
