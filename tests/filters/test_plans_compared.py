"""Plans and the whole way compared: answers, audit events and metrics of equal requests are equal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import orjson

from orchtw.testing.in_process import TOKEN
from tests.filters.plan_case import BOB, MAPS, RBAC, PlanCase
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
from tests.verbs.served import DEFAULT

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
"""Buckets of what is measured by a clock that the tests have not in hand."""


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
        requests = self.asked()
        self.log.write_bytes(b"")
        before = self.numbers(*COUNTED)
        begun = len(self.events())
        answers = [self.shown(path, token, headers) for path, token, headers in requests]
        events = self.events()[begun:]
        after = self.numbers(*COUNTED)
        counts = {name: float(value) - float(before.get(name, 0)) for name, value in after.items()}
        return answers, events, {name: value for name, value in counts.items() if not _TIMED.search(name)}

    def shown(self, path: str, token: str, headers: Mapping[str, str]) -> object:
        """An answer without what is never twice the same."""
        answer = self.send("GET", path, headers={"authorization": f"Bearer {token}", **headers})
        kept = [(name, value) for name, value in answer.headers.items() if name != "audit-id"]
        return answer.code, kept, answer.body

    def events(self) -> list[object]:
        """The audit events so far, without ids and times."""
        events = [orjson.loads(line) for line in self.log.read_bytes().splitlines() if line.strip(b"\0")]
        for event in events:
            for name in ("auditID", "requestReceivedTimestamp", "stageTimestamp"):
                self.assertTrue(event.pop(name))
        return [list(event.items()) for event in events]

    def test_equal(self) -> None:
        """Answers, events in their order and counts are the same; nothing is told of a request but once."""
        by_plans = self.told(on=True)
        self.assertGreater(self.plans.answered, 50)
        whole = self.told(on=False)
        self.assertEqual(by_plans[0], whole[0])
        self.assertEqual(by_plans[1], whole[1])
        self.assertEqual(by_plans[2], whole[2])


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
