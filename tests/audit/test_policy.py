"""Choice of the deciding rule of a policy (reference AUDIT-8, AUDIT-9)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.audit.policy import (
    METADATA,
    NONE,
    REQUEST,
    AuditPolicy,
    AuditRule,
    GroupResources,
    PolicyOutcome,
)
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.request_info import parse

META = PolicyOutcome(level=METADATA)
USER = UserInfo(name="amy", groups=("dev", "system:authenticated"))


def info(path: str, method: str = "GET") -> RequestInfo:
    """Return the parsed request information of a path."""
    return parse(method, path, {})


def resources(*names: str, group: str = "", of: tuple[str, ...] = ()) -> tuple[GroupResources, ...]:
    """One entry of a rule's resources."""
    return (GroupResources(group=group, resources=names, names=frozenset(of)),)


POD = "/api/v1/namespaces/a/pods/p"
LOG, STATUS = f"{POD}/log", f"{POD}/status"
NODE, DEPLOYMENT = "/api/v1/nodes/n", "/apis/apps/v1/namespaces/a/deployments/d"

# A rule, paths that it fits, paths that it does not fit.
CASES = (
    (AuditRule(outcome=META), (POD, NODE, "/healthz"), ()),
    (AuditRule(outcome=META, users=frozenset({"amy"})), (POD, "/healthz"), ()),
    (AuditRule(outcome=META, users=frozenset({"bob"})), (), (POD, "/healthz")),
    (AuditRule(outcome=META, groups=frozenset({"x", "dev"})), (POD,), ()),
    (AuditRule(outcome=META, groups=frozenset({"x"})), (), (POD,)),
    (AuditRule(outcome=META, verbs=frozenset({"get"})), (POD, "/healthz"), ("/api/v1/pods",)),
    (AuditRule(outcome=META, namespaces=frozenset({"a"})), (POD, DEPLOYMENT), (NODE, "/healthz")),
    (AuditRule(outcome=META, namespaces=frozenset({""})), (NODE, "/api/v1/pods"), (POD, "/healthz")),
    (
        AuditRule(outcome=META, resources=resources("pods")),
        (POD, "/api/v1/pods"),
        (LOG, NODE, DEPLOYMENT, "/healthz"),
    ),
    (AuditRule(outcome=META, resources=resources("pods/log")), (LOG,), (POD, STATUS)),
    (AuditRule(outcome=META, resources=resources("pods/*")), (POD, LOG, STATUS), (NODE,)),
    (AuditRule(outcome=META, resources=resources("*/status")), (STATUS,), (POD, LOG)),
    (AuditRule(outcome=META, resources=resources("*")), (POD, LOG, NODE), (DEPLOYMENT,)),
    (AuditRule(outcome=META, resources=resources()), (POD, LOG, NODE), (DEPLOYMENT,)),
    (AuditRule(outcome=META, resources=resources("deployments", group="apps")), (DEPLOYMENT,), (POD,)),
    (AuditRule(outcome=META, resources=resources("pods", of=("p",))), (POD,), ("/api/v1/namespaces/a/pods/q",)),
    (AuditRule(outcome=META, urls=("/healthz",)), ("/healthz",), ("/healthz/x", "/livez", POD)),
    (AuditRule(outcome=META, urls=("/healthz*", "/v*")), ("/healthz", "/healthz/x", "/version"), ("/livez", POD)),
    (AuditRule(outcome=META, urls=("*",)), ("/", "/livez"), (POD,)),
)


class PolicyTests(SynchronousTestCase):
    """Audit policies (`AuditPolicy` and `AuditRule`)."""

    def test_rules(self) -> None:
        """An empty field matches everything; resources, subresources, names and URLs match as in the release."""
        for rule, fitting, others in CASES:
            policy = AuditPolicy([rule])
            for path in fitting:
                self.assertEqual(policy.outcome(USER, info(path)).level, METADATA, (rule, path))
            for path in others:
                self.assertEqual(policy.outcome(USER, info(path)).level, NONE, (rule, path))

    def test_the_first_decides(self) -> None:
        """Of several rules that fit, the first; without one, there is no event."""
        policy = AuditPolicy(
            [
                AuditRule(outcome=PolicyOutcome(level=NONE), verbs=frozenset({"watch"})),
                AuditRule(outcome=PolicyOutcome(level=REQUEST), resources=resources("pods")),
                AuditRule(outcome=META, verbs=frozenset({"get", "watch"})),
            ]
        )
        watch = parse("GET", "/api/v1/pods", {"watch": ["1"]})
        found = [policy.outcome(USER, each).level for each in (watch, info(POD), info(NODE), info(NODE, "PUT"))]
        self.assertEqual(found, [NONE, REQUEST, METADATA, NONE])

    def test_nobody(self) -> None:
        """A request without a user fits rules without users only (reference AUDIT-5)."""
        rules = [AuditRule(outcome=META, users=frozenset({""})), AuditRule(outcome=META, groups=frozenset({"dev"}))]
        self.assertEqual(AuditPolicy(rules).outcome(None, info(POD)).level, NONE)
        self.assertEqual(AuditPolicy([AuditRule(outcome=META)]).outcome(None, info(POD)).level, METADATA)

    def test_by_name(self) -> None:
        """A policy with names in it has to be asked about each object."""
        named = AuditRule(outcome=META, resources=resources("pods", of=("p",)))
        unnamed = AuditRule(outcome=META, resources=resources("pods"))
        self.assertEqual([AuditPolicy(rules).by_name for rules in ([unnamed], [unnamed, named], [])],
                         [False, True, False])  # fmt: skip
