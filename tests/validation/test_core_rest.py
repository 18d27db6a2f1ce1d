"""Namespaces, secrets, config maps, accounts, limits and quotas (reference KIND-30, KIND-34)."""
# covers: orchtw.registry.groups.core.limit_range_validation, orchtw.registry.groups.core.namespaces
# covers: orchtw.registry.groups.core.quota_validation, orchtw.registry.groups.core.secret_validation

from __future__ import annotations

import base64
from typing import Any

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.verbs.served import ServedCase

DEFAULT = "/api/v1/namespaces/default"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
LIMIT_RANGE = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "a"},
    "spec": {"limits": [{"type": "Container"}]},
}
QUOTA = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "a"},
    "spec": {"hard": {"pods": "2"}},
}
TOKENS = "tests.verbs.test_token_request"
LABEL = "metadata.labels[orch.io/metadata.name]"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def limits(kind: str = "Container", /, **lists: Any) -> dict[str, Any]:
    return {"spec.limits[0]": {"type": kind, **lists}}


def scoped(scope: str, operator: str, *values: str) -> dict[str, Any]:
    term = {"scopeName": scope, "operator": operator, **({"values": list(values)} if values else {})}
    return {"spec.scopeSelector.matchExpressions": [term]}


TERMS = "spec.scopeSelector.matchExpressions"


class CoreRestTests(case.EntryCase):
    file = "core-rest.json"
    kinds = (
        *("Namespace", "Secret", "ConfigMap", "ServiceAccount", "TokenRequest", "LimitRange", "ResourceQuota"),
        "ComponentStatus",
    )
    bases = {
        "Namespace": Base(path="/api/v1/namespaces", obj=NAMESPACE),
        "Secret": Base(path=f"{DEFAULT}/secrets", obj=SECRET),
        "ConfigMap": Base(path=f"{DEFAULT}/configmaps", obj=CONFIG_MAP),
        "ServiceAccount": Base(path=f"{DEFAULT}/serviceaccounts", obj=ACCOUNT),
        "LimitRange": Base(path=f"{DEFAULT}/limitranges", obj=LIMIT_RANGE),
        "ResourceQuota": Base(path=f"{DEFAULT}/resourcequotas", obj=QUOTA),
    }
    examples = {
        0: [
            Refused(change={"spec.finalizers": ["other"]}, accepts={"spec.finalizers": ["orch", "orphan", "a.b/c"]}),
            Refused(change={"spec.finalizers": ["a b/c"]}, detail="name part|prefix part"),
        ],
        1: Refused(change={"status.phase": "Terminating"}, accepts={"status.phase": "Active"}, field="status.Phase"),
        2: Shown(f"{__name__}.NamespaceTests.test_phase_while_terminating"),
        3: [
            Refused(
                on="finalize",
                change={"spec.finalizers": ["orch", "other"]},
                accepts={"spec.finalizers": ["orch", "foregroundDeletion"]},
                field="spec.finalizers[1]",
            ),
        ],
        4: Stored(change={"status.phase": "Terminating"}, expected={"status": {"phase": "Active"}}),
        5: [
            Stored(expected={"spec.finalizers": ["orch"]}),
            Stored(change={"spec.finalizers": ["a.b/c"]}, expected={"spec.finalizers": ["a.b/c", "orch"]}),
        ],
        6: [
            Stored(change={"metadata.name": "b", LABEL: "c"}, expected={LABEL: "b"}),
            Stored(
                on="update", before={"metadata.name": "c1"}, change={"metadata.labels": {}}, expected={LABEL: "c1"}
            ),
            Stored(
                on="status", before={"metadata.name": "c2"}, change={"metadata.labels": {}}, expected={LABEL: "c2"}
            ),
            Stored(
                on="finalize", before={"metadata.name": "c3"}, change={"metadata.labels": {}}, expected={LABEL: "c3"}
            ),
        ],
        7: Stored(change={"spec.finalizers": ["a.b/c"]}, expected={"spec.finalizers": ["orch"]}),
        8: Stored(change={"status.phase": "Terminating"}, expected={"status.phase": "Active"}),
        9: Stored(change={"spec.finalizers": []}, expected={"spec.finalizers": ["orch"]}),
        10: Stored(
            on="finalize",
            change={"status.phase": "Terminating", "spec.finalizers": ["a.b/c"], "metadata.annotations": {"a": "b"}},
            expected={
                "status.phase": "Active",
                "spec": {"finalizers": ["a.b/c"]},
                "metadata.annotations": {"a": "b"},
            },
        ),
        11: Shown(f"{__name__}.NamespaceTests.test_first_delete"),
        12: Shown(f"{__name__}.NamespaceTests.test_second_delete"),
        13: Shown(f"{__name__}.NamespaceTests.test_preconditions"),
        14: Shown(f"{__name__}.NamespaceTests.test_preconditions"),
        15: Shown(f"{__name__}.NamespaceTests.test_last_finalizer"),
        16: Stored(on="update", change={"metadata.labels.a": "b"}, expected={"metadata.generation": GONE}),
        17: Shown(f"{__name__}.NamespaceTests.test_no_deletecollection"),
        18: Refused(change={"data": {"a b": ""}}, accepts={"data": {"a.b-c_D": ""}}, field="data[a b]"),
        19: Shown("tests.registry.groups.core.test_payload.PayloadTests.test_secret"),
        20: [
            Stored(
                change={"data": {"a": encoded("1"), "b": encoded("2")}, "stringData": {"a": "3"}},
                expected={"data": {"a": encoded("3"), "b": encoded("2")}, "stringData": GONE},
            ),
        ],
        21: Refused(
            before={"type": "orch.io/service-account-token"},
            change={},
            accepts={"metadata.annotations": {"orch.io/service-account.name": "default"}},
        ),
        22: Refused(before={"type": "orch.io/dockercfg"}, change={}, accepts={"stringData": {".dockercfg": "{}"}}),
        23: [
            Refused(
                before={"type": "orch.io/dockercfg"},
                change={"stringData": {".dockercfg": text}},
                accepts={"stringData": {".dockercfg": '{"a": {}}'}},
                detail='"<secret contents redacted>": [^"]+$',
            )
            for text in ("", "x", "[]", '"sesame"', "1")
        ],
        24: Refused(
            before={"type": "orch.io/dockerconfigjson"},
            change={},
            accepts={"stringData": {".dockerconfigjson": "null"}},
        ),
        25: Refused(
            before={"type": "orch.io/dockerconfigjson"},
            change={"stringData": {".dockerconfigjson": "{"}},
            accepts={"stringData": {".dockerconfigjson": "{}"}},
            detail='"<secret contents redacted>": [^"]+$',
        ),
        26: [
            Refused(
                before={"type": "orch.io/basic-auth"},
                change={"stringData": {"Username": "a"}},
                accepts={"data": {name: ""}},
                field=f"data[%s][{name}]",
            )
            for name in ("username", "password")
        ],
        27: Refused(
            before={"type": "orch.io/ssh-auth"},
            change={"data": {"ssh-privatekey": ""}},
            accepts={"stringData": {"ssh-privatekey": "a"}},
        ),
        28: Refused(
            before={"type": "orch.io/tls"},
            change={"data": {"tls.key": ""}},
            accepts={"data": {"tls.key": "", "tls.crt": ""}},
        ),
        29: Refused(
            before={"type": "orch.io/tls"},
            change={"data": {"tls.crt": ""}},
            accepts={"data": {"tls.key": "", "tls.crt": ""}},
        ),
        30: [Accepted(change={"type": "a b"}), Accepted(change={"type": "bootstrap.orch.io/token"})],
        31: [
            Refused(change={"type": "other"}, accepts={"type": ""}),
            Refused(before={"type": "other"}, change={"type": "Opaque"}),
        ],
        32: [
            Refused(before={"immutable": True}, change={"immutable": value}, accepts={"metadata.labels.a": "b"})
            for value in (False, GONE)
        ],
        33: [
            Refused(before={"immutable": True}, change={"data": {"a": ""}}),
            Refused(before={"immutable": True}, change={"stringData": {"a": ""}}),
        ],
        34: Accepted(
            before={"immutable": True},
            change={
                "metadata.labels": {"a": "b"},
                "metadata.annotations": {"a": "b"},
                "metadata.finalizers": ["a.b/c"],
            },
        ),
        35: Stored(expected={"type": "Opaque"}),
        36: Stored(expected={"metadata.generation": GONE}),
        37: Refused(change={"data": {"a b": ""}}, accepts={"data": {"a.b-c_D": ""}}, field="data[a b]"),
        38: Refused(change={"binaryData": {"..": ""}}, accepts={"binaryData": {"a": ""}}, field="binaryData[..]"),
        39: Refused(
            change={"data": {"a": ""}, "binaryData": {"a": ""}},
            accepts={"data": {"a": ""}, "binaryData": {"b": ""}},
            field="data[a]",
        ),
        40: Shown("tests.registry.groups.core.test_payload.PayloadTests.test_config_map"),
        41: [
            Refused(before={"immutable": True}, change={"immutable": value}, accepts={"metadata.labels.a": "b"})
            for value in (False, GONE)
        ],
        42: Refused(before={"immutable": True, "data": {"a": "b"}}, change={"data": {"a": "c"}}),
        43: Refused(before={"immutable": True}, change={"binaryData": {"a": ""}}),
        44: Stored(expected={"metadata.generation": GONE}),
        45: Accepted(
            change={
                "secrets": [{"name": "a b", "namespace": "other"}],
                "imagePullSecrets": [{"name": "a b"}, {}],
                "automountServiceAccountToken": False,
            }
        ),
        46: [
            Stored(
                on=on, change={"secrets": [{"name": "b", "kind": "Secret"}]}, expected={"secrets": [{"name": "b"}]}
            )
            for on in ("create", "update")
        ],
        47: Stored(expected={"metadata.generation": GONE}),
        48: Shown(f"{TOKENS}.TokenRequestTests.test_seconds"),
        49: Shown(f"{TOKENS}.TokenRequestTests.test_other_kind"),
        50: Shown(f"{TOKENS}.TokenRequestTests.test_missing"),
        51: Shown(f"{TOKENS}.TokenRequestTests.test_pod_of_another"),
        52: Shown(f"{TOKENS}.TokenRequestTests.test_other_uid"),
        53: Shown(f"{TOKENS}.TokenRequestTests.test_names"),
        54: Shown(f"{TOKENS}.TokenRequestTests.test_defaults"),
        55: Shown(f"{TOKENS}.ShortTokenTests.test_cut"),
        56: Shown(f"{TOKENS}.TokenRequestTests.test_defaults"),
        57: [
            Refused(change=limits("Other"), accepts=limits("example.com/other")),
            Refused(change=limits("a b"), detail="name part must consist"),
            Accepted(change=limits("Pod")),
        ],
        58: Refused(
            change={"spec.limits": [{"type": "Pod"}, {"type": "Pod"}]},
            accepts={"spec.limits": [{"type": "Pod"}, {"type": "Container"}]},
            field="spec.limits[1].type",
        ),
        59: [
            Refused(
                change=limits(**{name: {"pods": "1"}}),
                accepts=limits(**{name: {"cpu": "1"}}),
                field=f"spec.limits[0].{name}[pods]",
                detail="must be a standard resource for containers",
            )
            for name in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
        ]
        + [
            Refused(
                change=limits("example.com/a", max={"other": "1"}),
                accepts=limits("example.com/a", max={"example.com/other": "1"}),
                field="spec.limits[0].max[other]",
            ),
            Accepted(change=limits("Pod", max={"hugepages-2Mi": "1", "example.com/gpu": "1"})),
        ],
        60: Refused(change=limits("Pod", default={"cpu": "1"}), accepts=limits("Pod", max={"cpu": "1"})),
        61: Refused(change=limits("Pod", defaultRequest={"cpu": "1"})),
        62: Refused(
            change=limits("PersistentVolumeClaim"),
            accepts=limits("PersistentVolumeClaim", min={"storage": "1Gi"}),
            field="spec.limits[0].limits",
        ),
        63: Refused(
            change=limits(min={"cpu": "2"}, max={"cpu": "1"}, default={"cpu": "1"}, defaultRequest={"cpu": "1"}),
            accepts=limits(min={"cpu": "1000m"}, max={"cpu": "1"}),
            field="spec.limits[0].min[cpu]",
        ),
        64: Refused(
            change=limits(min={"cpu": "2"}, defaultRequest={"cpu": "1"}),
            accepts=limits(min={"cpu": "2"}, defaultRequest={"cpu": "2"}),
            field="spec.limits[0].defaultRequest[cpu]",
        ),
        65: Refused(
            change=limits(max={"cpu": "1"}, defaultRequest={"cpu": "2"}),
            accepts=limits(max={"cpu": "1"}, defaultRequest={"cpu": "500m"}),
            field="spec.limits[0].defaultRequest[cpu]",
        ),
        66: Refused(
            change=limits(default={"cpu": "1"}, defaultRequest={"cpu": "2"}),
            accepts=limits(default={"cpu": "2"}, defaultRequest={"cpu": "1"}),
            field="spec.limits[0].defaultRequest[cpu]",
        ),
        67: Refused(
            change=limits(min={"cpu": "2"}, default={"cpu": "1"}, defaultRequest={"cpu": "2"}),
            accepts=limits(min={"cpu": "2"}, default={"cpu": "2"}, defaultRequest={"cpu": "2"}),
            field="spec.limits[0].default[cpu]",
        ),
        68: Refused(
            change=limits(max={"cpu": "1"}, default={"cpu": "2"}, defaultRequest={"cpu": "1"}),
            accepts=limits(max={"cpu": "1"}, default={"cpu": "1"}),
            field="spec.limits[0].default[cpu]",
        ),
        69: Refused(
            change=limits(maxLimitRequestRatio={"cpu": "500m"}),
            accepts=limits(maxLimitRequestRatio={"cpu": "1"}),
            field="spec.limits[0].maxLimitRequestRatio[cpu]",
        ),
        70: [
            Refused(
                change=limits(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"}),
                accepts=limits(min={"cpu": "1"}, max={"cpu": "3"}, maxLimitRequestRatio={"cpu": "3"}),
                field="spec.limits[0].maxLimitRequestRatio[cpu]",
            ),
            Accepted(change=limits(min={"cpu": "0"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "1e99"})),
        ],
        71: [
            Refused(
                change=limits(default={name: "2"}, defaultRequest={name: "1"}),
                accepts=limits(default={name: "2"}, defaultRequest={name: "2"}),
                field=f"spec.limits[0].defaultRequest[{name}]",
                detail=f"default value 2 must equal to defaultRequest value 1 in {name}",
            )
            for name in ("example.com/gpu", "hugepages-2Mi")
        ],
        72: Shown(f"{__name__}.CoreRestTests.test_limit_range_without_name"),
        73: [
            Refused(change=limits("Other"), field="spec.limits[0].type", detail="must be a standard limit type"),
            Accepted(change=limits("Pod", max={"cpu": "2"})),
        ],
        74: Stored(expected={"metadata.generation": GONE}),
        75: [
            Refused(
                change={"spec.hard": {name: "1"}},
                accepts={
                    "spec.hard": {
                        "limits.ephemeral-storage": "1",
                        "requests.hugepages-2Mi": "1",
                        "count/a.b": "1",
                        "services": "1",
                    }
                },
                field=f"spec.hard[{name}]",
            )
            for name in ("storage", "other")
        ],
        76: Refused(change={"spec.hard": {"cpu": "-1"}}, accepts={"spec.hard": {"cpu": "0"}}),
        77: [
            Refused(change={"spec.hard": {name: "1500m"}}, accepts={"spec.hard": {name: "1k"}})
            for name in ("pods", "services.nodeports", "example.com/gpu")
        ],
        78: Refused(
            change={"spec.scopes": ["Other"]},
            accepts={"spec.scopes": ["Terminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"]},
        ),
        79: [
            Refused(change={"spec.hard": {"cpu": "1"}, "spec.scopes": ["BestEffort"]}),
            Refused(
                change={"spec.hard": {"secrets": "1"}, "spec.scopes": ["Terminating"]},
                accepts={"spec.hard": {"limits.cpu": "1", "count/a": "1"}, "spec.scopes": ["Terminating"]},
            ),
        ],
        80: [
            Refused(change={"spec.scopes": list(pair)}, accepts={"spec.scopes": [pair[0]]})
            for pair in (("BestEffort", "NotBestEffort"), ("NotTerminating", "Terminating"))
        ],
        81: Refused(change=scoped("Other", "Exists"), accepts=scoped("PriorityClass", "Exists")),
        82: Refused(
            change={"spec.hard": {"cpu": "1"}, **scoped("BestEffort", "Exists")},
            accepts=scoped("BestEffort", "Exists"),
        ),
        83: Refused(
            change=scoped("Terminating", "In", "a"),
            accepts=scoped("PriorityClass", "In", "a"),
            detail="must be 'Exist' only operator",
        ),
        84: Refused(change=scoped("PriorityClass", "Other"), accepts=scoped("PriorityClass", "DoesNotExist")),
        85: Refused(
            change=scoped("PriorityClass", "NotIn"),
            accepts=scoped("PriorityClass", "NotIn", "a"),
            field=f"{TERMS}.values",
        ),
        86: Refused(change=scoped("PriorityClass", "Exists", "a"), field=f"{TERMS}.values"),
        87: Refused(
            change={
                TERMS: [
                    {"scopeName": "BestEffort", "operator": "Exists"},
                    {"scopeName": "NotBestEffort", "operator": "Exists"},
                ]
            },
        ),
        88: Refused(
            before={"spec.scopes": ["Terminating", "NotBestEffort"]},
            change={"spec.scopes": ["Terminating"]},
            accepts={"spec.scopes": ["NotBestEffort", "Terminating"]},
        ),
        89: Accepted(change={"spec.hard": {"cpu": "1"}}),
        90: Shown(f"{__name__}.CoreRestTests.test_status_without_version"),
        91: [
            Refused(
                change={"status.hard": hard},
                accepts={"status.hard": {"pods": "2"}},
                field=f"status.hard[{next(iter(hard))}]",
            )
            for hard in ({"other": "1"}, {"pods": "-1"}, {"pods": "500m"})
        ],
        92: [
            Refused(
                change={"status.used": used},
                accepts={"status.used": {"pods": "2"}},
                field=f"status.used[{next(iter(used))}]",
            )
            for used in ({"other": "1"}, {"pods": "-1"}, {"pods": "500m"})
        ],
        93: Stored(change={"status.hard": {"pods": "2"}}, expected={"status": {}}),
        94: Stored(change={"status.hard": {"pods": "2"}}, expected={"status": {}}),
        95: Stored(change={"spec.hard": {}, "status.used": {"pods": "1"}}, expected={"spec.hard": {"pods": "2"}}),
        96: Stored(expected={"metadata.generation": GONE}),
        122: Shown("tests.verbs.test_component_statuses.ComponentStatusTests.test_warning"),
    }

    def test_limit_range_without_name(self) -> None:
        """A limit range without a name is given a UUID for one."""
        made = self.done("POST", "limitranges", {**LIMIT_RANGE, "metadata": {}})
        self.assertRegex(made["metadata"]["name"], "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

    def test_status_without_version(self) -> None:
        """A write to /status that names no version is given the live one before the rule is asked: it is fine."""
        self.done("POST", "resourcequotas", QUOTA)
        answer = self.done("PUT", "resourcequotas/a/status", {**QUOTA, "status": {"used": {"pods": "1"}}})
        self.assertEqual(answer["status"], {"used": {"pods": "1"}})


class NamespaceTests(ServedCase):
    """Finalization of a namespace."""

    def setUp(self) -> None:
        super().setUp()
        self.made = self.done("POST", "/api/v1/namespaces", NAMESPACE)
        self.path = "/api/v1/namespaces/a"

    def test_first_delete(self) -> None:
        """The first delete marks it, with the finalizer of the policy, and answers with it."""
        answer = self.send("DELETE", self.path, {"propagationPolicy": "Foreground"})
        self.assertEqual((answer.code, answer.json["kind"]), (200, "Namespace"))
        self.assertIn("deletionTimestamp", answer.json["metadata"])
        self.assertEqual(answer.json["metadata"]["finalizers"], ["foregroundDeletion"])
        self.assertEqual(answer.json["status"]["phase"], "Terminating")

    def test_second_delete(self) -> None:
        """A second one finds it as it is."""
        first = self.done("DELETE", self.path)
        self.assertEqual(self.done("DELETE", self.path), first)

    def test_phase_while_terminating(self) -> None:
        """The phase of a terminating one stays Terminating."""
        marked = self.done("DELETE", self.path)
        answer = self.send("PUT", f"{self.path}/status", {**marked, "status": {"phase": "Active"}})
        self.assertEqual(answer.code, 422)
        (cause,) = answer.json["details"]["causes"]
        self.assertEqual((cause["field"], cause["reason"]), ("status.Phase", "FieldValueInvalid"))
        self.assertIn("may only be 'Terminating' if `deletionTimestamp` is not empty", cause["message"])
        self.done("PUT", f"{self.path}/status", marked)

    def test_preconditions(self) -> None:
        """A delete of another one, or of another state, is a conflict that says so."""
        uid, version = self.made["metadata"]["uid"], self.made["metadata"]["resourceVersion"]
        answer = self.send("DELETE", self.path, {"preconditions": {"uid": "b"}})
        self.assertEqual(answer.code, 409)
        self.assertIn(
            f"Precondition failed: UID in precondition: b, UID in object meta: {uid}", answer.json["message"]
        )
        answer = self.send("DELETE", self.path, {"preconditions": {"resourceVersion": "1"}})
        self.assertEqual(answer.code, 409)
        text = f"Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: {version}"
        self.assertIn(text, answer.json["message"])
        self.done("DELETE", self.path, {"preconditions": {"uid": uid, "resourceVersion": version}})

    def test_last_finalizer(self) -> None:
        """One that is terminating goes when its last finalizer does."""
        marked = self.done("DELETE", self.path)
        self.done("PUT", f"{self.path}/finalize", {**marked, "spec": {}})
        self.assertEqual(self.code("GET", self.path), 404)

    def test_no_deletecollection(self) -> None:
        """They are deleted one by one."""
        self.assertEqual(self.code("DELETE", "/api/v1/namespaces"), 405)
