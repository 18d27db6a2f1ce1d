"""Plans and the whole way compared: answers, audit events and metrics of equal requests are equal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson

from orchtw.testing.in_process import TOKEN
from orchtw.wire.objects import Object
from tests.filters.plan_case import BOB, MAPS, RBAC, READS, PlanCase
from tests.filters.plans_compared import compare
from tests.verbs import (
    test_custom_resources,
    test_either_meta_group,
    test_field_selectors,
    test_forms_and_tails,
    test_odd_requests,
    test_rbac_objects,
    test_refusals,
    test_resource_versions,
    test_typed_values,
)
from tests.verbs.served import DEFAULT, MERGE

POLICY = """\
apiVersion: audit.orch.io/v1
kind: Policy
rules:
  - level: None
    verbs: [get]
    resources: [{group: "", resources: [nodes]}]
  - level: Request
    users: [bob]
  - level: Metadata
    omitStages: [RequestReceived]
    namespaces: [kube-system, orch-system]
  - level: Metadata
"""
COUNTED = ("apiserver_request", "apiserver_response", "apiserver_flowcontrol", "apiserver_current", "apiserver_audit",
           "authenticat", "serviceaccount", "apiserver_client")  # fmt: skip
_TIMED = re.compile(r'^(apiserver_request_filter|authentication)_duration.*le="[0-9]')
"""Buckets of durations that are measured by the system's clock, which the tests do not control."""

_OWN = re.compile(
    rb'resourceVersion[\\\\":]+[0-9]+|"(?:uid|creationTimestamp|time|continue)":"[^"]*"|"[0-9]+s"|g-[a-z0-9]{5}'
    rb"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9]{4}-[0-9-]+T[0-9:.]+Z|[\x12*2]\x03[0-9]{3}|\x08[\x80-\xff]{4}."
)
"""Parts of answers and events that differ with each request."""

MERGED, STRATEGIC, APPLIED = ({"content-type": f"application/{form}"} for form in (
    "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"))  # fmt: skip
PROTOBUF = {"accept": "application/vnd.orch.protobuf"}
TABLE = {"accept": "application/json;as=Table;g=meta.orch.io;v=v1"}
LEASES = "/apis/coordination.orch.io/v1/namespaces/default/leases"
PODS, BUDGETS = f"{DEFAULT}/pods", "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets"
POD: Object = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
NAMED: Object = {"metadata": {"name": "w"}}
OBJECT: Object = {"apiVersion": "v1", "kind": "ConfigMap", **NAMED, "data": {"x": "y"}}

WRITTEN: Sequence[tuple[str, str, Any, Mapping[str, str]]] = (
    ("POST", MAPS, OBJECT, {}),
    ("POST", MAPS, OBJECT, {}),
    ("POST", MAPS, {"metadata": {}}, {}),
    ("POST", f"{MAPS}?dryRun=All", {"metadata": {"generateName": "g-"}}, {}),
    ("PUT", f"{MAPS}/w", {**NAMED, "data": {"a": "c"}}, {}),
    ("PUT", f"{MAPS}/w", NAMED, PROTOBUF),
    ("PUT", f"{MAPS}/w?fieldManager=me&timeout=5s", NAMED, {}),
    ("PUT", f"{MAPS}/v", NAMED, {}),
    ("PUT", f"{MAPS}/w", {"metadata": {"name": "w", "resourceVersion": "1"}}, {}),
    ("PUT", f"{MAPS}/w?timeout=nonsense", NAMED, {}),
    ("PUT", f"{MAPS}/w", NAMED, MERGED),
    ("PUT", f"{MAPS}/w?fieldValidation=Strict", {**OBJECT, "no": 1}, {}),
    ("PUT", f"{MAPS}/w", {**NAMED, "no": 1}, {}),
    ("PUT", f"{MAPS}/w", b"{", {}),
    ("PATCH", f"{MAPS}/w", {"metadata": {"labels": {"a": "b"}}}, MERGED),
    ("PATCH", f"{MAPS}/w", {"data": {"a": None}}, STRATEGIC),
    ("PATCH", f"{MAPS}/w", {"data": 1}, MERGED),
    ("PATCH", f"{MAPS}/w?fieldManager=me&force=true", OBJECT, APPLIED),
    ("PATCH", f"{MAPS}/w", OBJECT, APPLIED),
    ("PATCH", f"{MAPS}/w", {}, {"content-type": "text/plain"}),
    ("GET", f"{MAPS}?limit=1", None, {}),
    ("GET", MAPS, None, TABLE),
    ("GET", MAPS, None, PROTOBUF),
    ("GET", f"{MAPS}?fieldSelector=metadata.name%3Dw", None, {}),
    ("GET", f"{MAPS}/w", None, TABLE),
    ("GET", f"{MAPS}?labelSelector=a%3Db", None, {}),
    ("GET", f"{MAPS}?labelSelector=,", None, {}),
    ("DELETE", f"{MAPS}/w", {"propagationPolicy": "Background"}, {}),
    ("DELETE", f"{MAPS}/w", None, {}),
    ("POST", LEASES, {"metadata": {"name": "l"}}, {}),
    ("PUT", f"{LEASES}/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}, {}),
    ("DELETE", f"{LEASES}/l", None, {}),
    ("POST", PODS, POD, {}),
    ("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}}, MERGED),
    ("POST", f"{PODS}/p/binding", {"target": {"kind": "Node", "name": "n"}}, {}),
    ("GET", f"{PODS}/p/status", None, {}),
    ("PUT", f"{PODS}/p/nonsense", POD, {}),
    ("PUT", f"{DEFAULT}/nonsense/p", POD, {}),
    ("POST", f"{BUDGETS}?dryRun=All", NAMED, {}),
    ("DELETE", f"{PODS}/p?gracePeriodSeconds=0", None, {}),
)
"""Writes and lists, which leave nothing behind."""


class EqualTests(PlanCase):
    """The same requests of one server, by plans and the whole way."""


    more: ClassVar[Mapping[str, Any]] = {}
    maxDiff = None

    def setUp(self) -> None:
        folder = Path(self.mktemp())
        folder.mkdir()
        (folder / "policy.yaml").write_text(POLICY)
        self.log = folder / "audit.log"
        more = {
            "audit_policy_file": folder / "policy.yaml",
            "audit_log_path": str(self.log),
            "cors_allowed_origins": ("https://example.com",),
            "strict_transport_security_directives": ("max-age=31536000",),
        }
        self.patch(type(self), "more", more)
        super().setUp()
        self.account = self.account_token()

    def asked(self) -> list[tuple[str, str, dict[str, str]]]:
        """Paths, tokens and headers of requests, several times in turns."""
        protobuf = {"accept": "application/vnd.orch.protobuf"}
        requests: list[tuple[str, str, dict[str, str]]] = []
        for _ in range(5):
            for token in (TOKEN, BOB, self.account, "wrong"):
                requests += [(f"{MAPS}/{name}", token, {}) for name in ("a", "b", "none", "..", "%61")]
                requests += [(f"{MAPS}/a", token, protobuf), (f"{MAPS}/a?resourceVersion=0", token, {})]
                requests += [(f"{MAPS}/a?pretty=1", token, {}), (f"{MAPS}/a?timeout=nonsense", token, {})]
                requests += [(f"{MAPS}/a", token, {"origin": f"https://{name}.com"}) for name in ("example", "other")]
                requests += [(f"{MAPS}/a", token, {"user-agent": "é\"\\", "x-forwarded-for": "192.0.2.1, 192.0.2.2"})]
                requests += [(path, token, {}) for path in (MAPS, DEFAULT, f"{DEFAULT}/secrets/a", "/api/v1/nodes/a")]
                requests += [(f"/apis/{RBAC}/v1/clusterroles/system:node", token, {})]
        return requests

    def told(self, *, on: bool) -> tuple[list[object], list[object], Mapping[str, Any]]:
        """Return the answers, the audit events and the metrics of all requests."""
        self.plans.on = on
        requests = [("GET", path, token, None, headers) for path, token, headers in self.asked()]
        return self.asking(requests)

    def asking(
        self, requests: Sequence[tuple[str, str, str, Any, Mapping[str, str]]]
    ) -> tuple[list[object], list[object], Mapping[str, Any]]:
        """Return the answers, the audit events and the metrics of these requests."""
        self.log.write_bytes(b"")
        before = self.numbers(*COUNTED)
        begun = len(self.events())
        answers = [self.shown(*request) for request in requests]
        events = self.events()[begun:]
        after = self.numbers(*COUNTED)
        counts = {name: float(value) - float(before.get(name, 0)) for name, value in after.items()}
        return answers, events, {name: value for name, value in counts.items() if not _TIMED.search(name)}

    def shown(self, method: str, path: str, token: str, body: Any, headers: Mapping[str, str]) -> object:
        """Return an answer without the parts that differ with each request."""
        answer = self.send(method, path, body, {"authorization": f"Bearer {token}", **headers})
        kept = [(name, value) for name, value in answer.headers.items() if name != "audit-id"]
        return answer.code, kept, _OWN.sub(b"", answer.body)

    def events(self) -> list[object]:
        """The audit events so far, without ids and times."""
        events = [orjson.loads(line) for line in self.log.read_bytes().splitlines() if line.strip(b"\0")]
        for event in events:
            for name in ("auditID", "requestReceivedTimestamp", "stageTimestamp"):
                self.assertTrue(event.pop(name))
        return [_OWN.sub(b"", orjson.dumps(event)) for event in events]

    def test_equal(self) -> None:
        """Answers, events in their order and counts are the same; nothing is told of a request but once."""
        by_plans = self.told(on=True)
        self.assertGreater(self.plans.answered, 50)
        whole = self.told(on=False)
        self.assertEqual(by_plans[0], whole[0])
        self.assertEqual(by_plans[1], whole[1])
        self.assertEqual(by_plans[2], whole[2])

    def test_writes(self) -> None:
        """So are those of writes and lists, where short lines lead some requests, all or none."""
        role = {"rules": [{**READS, "verbs": ["*"]}, {**READS, "verbs": ["*"], "resources": ["pods", "leases"]}]}
        self.done("PATCH", f"/apis/{RBAC}/v1/clusterroles/reads", role, MERGE)
        tokens = (TOKEN, BOB, self.account, "wrong")
        requests = [(method, path, token, body, headers)
                    for _ in range(4) for token in tokens for method, path, body, headers in WRITTEN]  # fmt: skip
        for _ in range(2):
            by_lines = self.asking(requests)
        self.assertGreater(self.plans.led, 400)
        self.plans.on = False
        whole = self.asking(requests)
        for each, other in zip(by_lines[0], whole[0], strict=True):
            self.assertEqual(each, other)
        self.assertEqual(by_lines[1], whole[1])
        self.assertEqual(by_lines[2], whole[2])


class Compared:
    """For protocol tests: a get is sent until a plan can answer it, and must be answered alike each time."""

    def setUp(self) -> Any:
        compare(self)
        return super().setUp()  # type: ignore[misc]


class ComparedTests(Compared, PlanCase):
    """The comparison that the classes below make."""

    def test_planned(self) -> None:
        """A get that is compared is answered by a plan, and the whole way."""
        self.get()
        self.assertEqual(self.plans.answered, 1)


class TypeTests(Compared, test_custom_resources.TypeTests):
    """Custom resources in their types."""


class StrategyTests(Compared, test_custom_resources.StrategyTests):
    """Custom resources, written and read."""


class CustomFormTests(Compared, test_custom_resources.FormTests):
    """Custom resources in all forms of answers."""


class EveryKindTests(Compared, test_field_selectors.EveryKindTests):
    """Objects of every kind."""


class ComponentStatusTests(Compared, test_forms_and_tails.ComponentStatusTests):
    """Objects that are never stored."""


class PathTests(Compared, test_forms_and_tails.PathTests):
    """Paths of all sorts."""


class VersionTests(Compared, test_resource_versions.GetTests):
    """Gets that ask for versions."""


class ValueTests(Compared, test_typed_values.OrchVocabularyTests):
    """Values of all types."""


class MetaGroupTests(Compared, test_either_meta_group.KubernetesVocabularyTests):
    """Forms of the other vocabulary."""


class RefusalTests(Compared, test_refusals.RefusalTests):
    """Refusals of requests that cannot be served."""


class EmptyNamespaceTests(Compared, test_odd_requests.EmptyNamespaceTests):
    """Paths with an empty namespace."""


class RoleTests(Compared, test_rbac_objects.RoleTests):
    """Roles, written and read."""
