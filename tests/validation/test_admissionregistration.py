"""Configurations of webhooks (reference HOOK-2, KIND-34)."""

from __future__ import annotations

from tests.registry.unchecked import without_rules
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored
from tests.validation.paths import changed

V1 = "admissionregistration.orch.io/v1"
VALIDATING, MUTATING = f"/apis/{V1}/validatingwebhookconfigurations", f"/apis/{V1}/mutatingwebhookconfigurations"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://example.com/hook"},
    "rules": [RULE],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
CONFIGURATION = {
    "apiVersion": V1,
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "a"},
    "webhooks": [HOOK],
}
MUTATING_CONFIGURATION = {**CONFIGURATION, "kind": "MutatingWebhookConfiguration"}
H = "webhooks[0]"
R, C = f"{H}.rules[0]", f"{H}.clientConfig"
SERVICE = {"name": "s", "namespace": "n"}
SELECTOR = {"matchLabels": {"a": "b c"}}


def service(**more: object) -> dict[str, object]:
    return {C: {"service": {**SERVICE, **more}}}


class AdmissionregistrationTests(case.EntryCase):
    file = "admissionregistration.json"
    bases = {
        "ValidatingWebhookConfiguration": Base(path=VALIDATING, obj=CONFIGURATION),
        "MutatingWebhookConfiguration": Base(path=MUTATING, obj=MUTATING_CONFIGURATION),
    }
    examples = {
        0: Refused(change={f"{H}.name": ""}),
        1: (
            Refused(change={f"{H}.name": "example.com"}),
            Refused(change={f"{H}.name": "A.example.com"}, detail="a lowercase RFC 1123 subdomain"),
        ),
        2: (
            Refused(change={"webhooks": [HOOK, HOOK]}, field="webhooks[1].name"),
            Shown(f"{__name__}.AdmissionregistrationTests.test_stored_flaws"),
        ),
        3: Refused(change={f"{H}.admissionReviewVersions": []}),
        4: Refused(change={f"{H}.admissionReviewVersions": ["v1", "v1"]}),
        5: Refused(change={f"{H}.admissionReviewVersions": ["v1", "1"]}),
        6: (
            Refused(
                change={f"{H}.admissionReviewVersions": ["v2"]},
                accepts={f"{H}.admissionReviewVersions": ["v2", "v1beta1"]},
            ),
            Shown(f"{__name__}.AdmissionregistrationTests.test_stored_flaws"),
        ),
        7: (Refused(change={f"{R}.operations": []}), Refused(on="update", change={f"{R}.operations": GONE})),
        8: Refused(change={f"{R}.operations": ["*", "CREATE"]}, accepts={f"{R}.operations": ["*"]}),
        9: Refused(
            change={f"{R}.operations": ["CREATE", "create"]},
            field=f"{R}.operations[1]",
            detail=r'supported values: "\*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
        ),
        10: Refused(change={f"{R}.apiGroups": []}),
        11: Refused(change={f"{R}.apiGroups": ["*", "apps"]}, accepts={f"{R}.apiGroups": ["", "any thing"]}),
        12: Refused(change={f"{R}.apiVersions": []}),
        13: Refused(change={f"{R}.apiVersions": ["v1", "*"]}, accepts={f"{R}.apiVersions": ["*"]}),
        14: Refused(change={f"{R}.apiVersions": [""]}),
        15: Refused(change={f"{R}.resources": []}),
        16: Refused(change={f"{R}.resources": [""]}),
        17: Refused(change={f"{R}.resources": ["*/*", "pods"]}, accepts={f"{R}.resources": ["*/*"]}),
        18: Refused(
            change={f"{R}.resources": ["*", "pods"]},
            accepts={f"{R}.resources": ["*", "pods/status"]},
        ),
        19: Refused(
            change={f"{R}.resources": ["pods/*", "pods/status"]}, accepts={f"{R}.resources": ["pods", "pods/*"]}
        ),
        20: Refused(change={f"{R}.resources": ["*/scale", "pods/scale"]}, accepts={f"{R}.resources": ["a/b", "c/b"]}),
        21: Refused(
            change={f"{R}.scope": "Namespace"},
            accepts={f"{R}.scope": "Namespaced"},
            detail=r'supported values: "\*", "Cluster", "Namespaced"',
        ),
        22: Refused(
            change={f"{H}.failurePolicy": "Retry"},
            accepts={f"{H}.failurePolicy": "Ignore"},
            detail='supported values: "Fail", "Ignore"',
        ),
        23: Refused(
            change={f"{H}.matchPolicy": "Loose"},
            accepts={f"{H}.matchPolicy": "Exact"},
            detail='supported values: "Equivalent", "Exact"',
        ),
        24: Refused(change={f"{H}.sideEffects": GONE}),
        25: (
            Refused(
                change={f"{H}.sideEffects": "Some"},
                accepts={f"{H}.sideEffects": "NoneOnDryRun"},
                detail='supported values: "None", "NoneOnDryRun"',
            ),
            Shown(f"{__name__}.AdmissionregistrationTests.test_stored_flaws"),
        ),
        26: (
            Refused(change={f"{H}.timeoutSeconds": 31}, accepts={f"{H}.timeoutSeconds": 30}),
            Refused(change={f"{H}.timeoutSeconds": 0}, accepts={f"{H}.timeoutSeconds": 1}),
        ),
        27: Refused(change={f"{H}.namespaceSelector": SELECTOR}, field=f"{H}.namespaceSelector.matchLabels"),
        28: Refused(change={f"{H}.objectSelector": SELECTOR}, field=f"{H}.objectSelector.matchLabels"),
        29: (
            Refused(change={C: {}}),
            Refused(change={f"{C}.service": SERVICE}, accepts={C: {"service": SERVICE}}),
        ),
        30: Refused(change={f"{C}.url": "https://[a"}),
        31: Refused(change={f"{C}.url": "http://example.com"}),
        32: Refused(change={f"{C}.url": "https:///a"}),
        33: Refused(change={f"{C}.url": "https://me@example.com"}),
        34: Refused(change={f"{C}.url": "https://example.com/#a"}),
        35: Refused(change={f"{C}.url": "https://example.com/?a=b"}),
        36: Refused(change=service(name="")),
        37: Refused(change=service(namespace="")),
        38: (
            Refused(change=service(port=0)),
            Refused(change=service(port=65536), accepts=service(port=65535)),
        ),
        39: (
            Refused(change=service(path="//")),
            Accepted(change=service(path="")),
            Accepted(change=service(path="/")),
        ),
        40: Refused(change=service(path="a")),
        41: Refused(change=service(path="/a//b"), accepts=service(path="/a/b/")),
        42: Refused(change=service(path="/A")),
        43: Accepted(change={f"{C}.caBundle": "YQ=="}),
        44: Stored(expected={"metadata.generation": 1}),
        45: (
            Stored(change={f"{H}.timeoutSeconds": 5}, expected={"metadata.generation": 2}),
            Stored(change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": 1}),
        ),
        46: Refused(change={"metadata.resourceVersion": GONE}, detail="must be specified for an update"),
        47: (
            Refused(change={f"{H}.admissionReviewVersions": ["v2"]}, field=f"{H}.admissionReviewVersions"),
            Refused(change={f"{H}.timeoutSeconds": 31}, field=f"{H}.timeoutSeconds"),
            Refused(change={f"{R}.apiGroups": ["*", "apps"]}, field=f"{R}.apiGroups"),
            Refused(change={f"{C}.url": "http://example.com"}, field=f"{C}.url"),
        ),
        48: Refused(change={f"{H}.reinvocationPolicy": "Always"}, accepts={f"{H}.reinvocationPolicy": "IfNeeded"}),
        49: Stored(expected={"metadata.generation": 1}),
        50: Stored(change={f"{H}.reinvocationPolicy": "IfNeeded"}, expected={"metadata.generation": 2}),
        51: Refused(change={"metadata.resourceVersion": GONE}, detail="must be specified for an update"),
    }

    def test_stored_flaws(self) -> None:
        """Names that repeat, effects and versions of old may stay where they are so, and others join them."""
        for flaw, repaired in (
            ({"webhooks": [HOOK, HOOK]}, {"webhooks": [HOOK]}),
            ({f"{H}.sideEffects": "Some"}, {f"{H}.sideEffects": "None"}),
            ({f"{H}.admissionReviewVersions": ["v2"]}, {f"{H}.admissionReviewVersions": ["v1"]}),
        ):
            with without_rules():
                made = self.done(
                    "POST", VALIDATING, changed(CONFIGURATION, {**self.fresh_name(CONFIGURATION), **flaw})
                )
            path = f"{VALIDATING}/{made['metadata']['name']}"
            made = self.done("PUT", path, changed(made, {"metadata.labels": {"a": "b"}}))
            made = self.done("PUT", path, changed(made, repaired))
            self.assertEqual(self.code("PUT", path, changed(made, flaw)), 422)
