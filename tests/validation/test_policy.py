"""Disruption budgets, evictions and pod security policies (reference KIND-65, KIND-23)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Example, Refused, Shown, Stored
from tests.validation.workloads import NO_SUCH, generation, negative

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
POLICIES = "/apis/policy/v1beta1/podsecuritypolicies"
BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "a"},
    "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
}
POLICY = {
    "apiVersion": "policy/v1beta1",
    "kind": "PodSecurityPolicy",
    "metadata": {"name": "a"},
    "spec": {key: {"rule": "RunAsAny"} for key in ("seLinux", "runAsUser", "supplementalGroups", "fsGroup")},
}
CONDITION = {
    "type": "DisruptionAllowed",
    "status": "True",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
    "reason": "Enough",
    "message": "",
}
APP_ARMOR = "metadata.annotations[apparmor.security.beta.orch.io/{}]"
SECCOMP = "metadata.annotations[seccomp.security.alpha.orch.io/{}]"
UNSAFE, BANNED = "spec.allowedUnsafeSysctls", "spec.forbiddenSysctls"
CLASSES = "spec.runtimeClass.allowedRuntimeClassNames"


def ranges(field: str, rule: str = "MustRunAs") -> list[Example]:
    """Return ranges of ids."""
    strategy, at = {f"{field}.rule": rule}, f"{field}.ranges[1]"
    good = {"min": 0, "max": 0}
    return [
        Refused(
            change={**strategy, f"{field}.ranges": [good, {"min": low, "max": high}]},
            accepts={**strategy, f"{field}.ranges": [good, good]},
            field=f"{at}.{key}",
            detail=detail,
        )
        for low, high, key, detail in (
            (-1, 5, "min", "min cannot be negative"),
            (-2, -1, "max", "max cannot be negative"),
            (2, 1, "min", "min cannot be greater than max"),
        )
    ]


class PolicyTests(case.EntryCase):
    file = "policy.json"
    bases = {
        "PodDisruptionBudget": Base(path=BUDGETS, obj=BUDGET),
        "PodSecurityPolicy": Base(path=POLICIES, obj=POLICY),
    }
    examples = {
        0: Refused(change={"spec.maxUnavailable": 1}, accepts={"spec.minAvailable": GONE, "spec.maxUnavailable": 1}),
        1: [
            Refused(change={"spec.minAvailable": -1}, detail="must be greater than or equal to 0"),
            Refused(change={"spec.minAvailable": "some"}, accepts={"spec.minAvailable": "100%"}),
        ],
        2: Refused(change={"spec.minAvailable": "101%"}),
        3: [
            Refused(change={"spec.minAvailable": GONE, "spec.maxUnavailable": value}, detail=detail)
            for value, detail in ((-1, "must be greater than or equal to 0"), ("1", "a valid percent string"))
        ],
        4: Refused(change={"spec.minAvailable": GONE, "spec.maxUnavailable": "101%"}),
        5: Refused(change={"spec.selector": NO_SUCH}, field="spec.selector.matchExpressions[0].operator"),
        6: Accepted(change={"spec.minAvailable": GONE}),
        7: Accepted(change={"metadata.name": "Any $ Name"}),
        8: Shown(f"{__name__}.PolicyTests.test_status_of_main_path"),
        9: [
            *negative("status.disruptionsAllowed", "status.currentHealthy", "status.desiredHealthy"),
            *negative("status.expectedPods"),
            Shown(f"{__name__}.PolicyTests.test_status_of_older_version"),
        ],
        10: Shown(f"{__name__}.PolicyTests.test_status_of_older_version"),
        11: Accepted(change={"spec": {"maxUnavailable": "5%", "selector": {}}}),
        12: Stored(change={"status.currentHealthy": 5}, expected={"status.currentHealthy": 0}),
        13: Stored(expected={"metadata.generation": 1}),
        14: generation({"spec.minAvailable": 2}),
        15: Stored(change={"status.currentHealthy": 5}, expected={"status.currentHealthy": 0}),
        16: Stored(
            change={"spec.minAvailable": 5, "status.currentHealthy": 5},
            expected={"spec.minAvailable": 1, "status.currentHealthy": 5},
        ),
        17: Refused(change={"metadata.resourceVersion": GONE}, code=422, field="metadata.resourceVersion"),
        18: Shown("tests.schema.conversion.test_conversion.BudgetTests.test_pairs"),
        19: Shown(f"{__name__}.PolicyTests.test_older_versions"),
        20: Shown(f"{__name__}.PolicyTests.test_dry_run_twice"),
        21: [
            Refused(change={"spec.runAsUser.rule": "Anybody"}, accepts={"spec.runAsUser.rule": "MustRunAsNonRoot"}),
            Refused(change={"spec.runAsUser.rule": ""}),
        ],
        22: ranges("spec.runAsUser"),
        23: Refused(change={"spec.runAsGroup.rule": "Anybody"}, accepts={"spec.runAsGroup.rule": "RunAsAny"}),
        24: Refused(change={"spec.runAsGroup": {"rule": "RunAsAny", "ranges": [{"min": 1, "max": 2}]}}),
        25: [
            Refused(
                change={"spec.runAsGroup": {"rule": rule}},
                accepts={"spec.runAsGroup": {"rule": rule, "ranges": [{"min": 1, "max": 2}]}},
            )
            for rule in ("MustRunAs", "MayRunAs")
        ],
        26: ranges("spec.runAsGroup", "MayRunAs"),
        27: Refused(change={"spec.seLinux.rule": "MayRunAs"}, accepts={"spec.seLinux.rule": "MustRunAs"}),
        28: Refused(
            change={"spec.supplementalGroups.rule": "Anybody"}, accepts={"spec.supplementalGroups.rule": "MayRunAs"}
        ),
        29: ranges("spec.supplementalGroups"),
        30: [
            Refused(change={"spec.fsGroup.rule": "Anybody"}, accepts={"spec.fsGroup.rule": "MayRunAs"}),
            Refused(change={"spec.fsGroup": {}}),
        ],
        31: ranges("spec.fsGroup"),
        32: Refused(change={"spec.volumes": ["secret", "tape"]}, accepts={"spec.volumes": ["secret", "*"]}),
        33: Refused(
            change={"spec.requiredDropCapabilities": ["A"], "spec.allowedCapabilities": ["*"]},
            accepts={"spec.allowedCapabilities": ["*"]},
        ),
        34: Refused(
            change={"spec.requiredDropCapabilities": ["A", "B"], "spec.defaultAddCapabilities": ["C", "B"]},
            accepts={"spec.requiredDropCapabilities": ["A"], "spec.defaultAddCapabilities": ["B"]},
        ),
        35: Refused(change={"spec.requiredDropCapabilities": ["A", "B"], "spec.allowedCapabilities": ["C", "B"]}),
        36: Refused(
            change={"spec.defaultAllowPrivilegeEscalation": True, "spec.allowPrivilegeEscalation": False},
            accepts={"spec.defaultAllowPrivilegeEscalation": True},
        ),
        37: Refused(
            change={"spec.allowedProcMountTypes": ["Masked"]},
            accepts={"spec.allowedProcMountTypes": ["Default", "Unmasked"]},
        ),
        38: Refused(
            change={"spec.allowedHostPaths": [{"pathPrefix": "/a"}, {"readOnly": True}]},
            accepts={"spec.allowedHostPaths": [{"pathPrefix": "/a"}]},
            field="spec.allowedHostPaths[1]",
        ),
        39: Refused(
            change={"spec.allowedHostPaths": [{"pathPrefix": "/a/../b"}]},
            accepts={"spec.allowedHostPaths": [{"pathPrefix": "/a/..b"}]},
            field="spec.allowedHostPaths[0]",
        ),
        40: Refused(change={"spec.allowedFlexVolumes": [{"driver": ""}]}),
        41: [
            Refused(
                change={"spec.allowedCSIDrivers": [{"name": "no driver"}]},
                accepts={"spec.allowedCSIDrivers": [{"name": "Example.com"}]},
            ),
        ],
        42: [
            Refused(change={UNSAFE: [sysctl]}, accepts={UNSAFE: ["kernel.shm*", "net/core.a_b"]})
            for sysctl in ("", "a..b", "k" * 254, "Kernel.a", "a*b")
        ],
        43: [
            Refused(change={BANNED: [""]}),
            Refused(change={BANNED: ["-a"]}, detail="must have at most 253 characters and match regex"),
        ],
        44: [
            Refused(change={path: ["*", "a"]}, accepts={path: ["*"]}, field=f"{path}.items")
            for path in (UNSAFE, BANNED)
        ],
        45: [
            Refused(change={UNSAFE: unsafe, BANNED: banned}, field=field, detail=f"sysctl overlaps with {other}")
            for unsafe, banned, field, other in (
                (["x", "a.b"], ["a.b"], f"{UNSAFE}[1]", "a.b"),
                (["a.b"], ["a.*"], f"{UNSAFE}[0]", "a.\\*"),
                (["a.b*"], ["a.*"], f"{UNSAFE}[0]", "a.\\*"),
                (["a.*"], ["a.*"], f"{UNSAFE}[0]", "a.\\*"),
                (["a.*"], ["x", "a.b"], f"{BANNED}[1]", "a.\\*"),
                (["a.*"], ["a.b*"], f"{BANNED}[0]", "a.\\*"),
            )
        ]
        + [Accepted(change={UNSAFE: ["a.b", "c.*"], BANNED: ["a.bc", "a.bd*"]})],
        46: Refused(change={CLASSES: ["No Class"]}, accepts={CLASSES: ["*"]}),
        47: Refused(change={CLASSES: ["a", "b", "a"]}, field=f"{CLASSES}[2]"),
        48: Refused(change={CLASSES: ["*", "a"]}),
        49: Refused(
            change={CLASSES: ["a"], "spec.runtimeClass.defaultRuntimeClassName": "b"},
            accepts={CLASSES: ["*"], "spec.runtimeClass.defaultRuntimeClassName": "b"},
            detail='default "b" must be allowed',
        ),
        50: [
            Refused(
                change={APP_ARMOR.format(key): value},
                accepts={APP_ARMOR.format(key): accepted},
                field=APP_ARMOR.format(key),
                detail="invalid AppArmor profile name",
            )
            for key, value, accepted in (
                ("defaultProfileName", "mine", "localhost/mine"),
                ("allowedProfileNames", "runtime/default,mine", "runtime/default,localhost/mine"),
            )
        ],  # fmt: skip
        51: [
            Refused(
                change={SECCOMP.format(key): value},
                accepts={SECCOMP.format(key): accepted},
                field=SECCOMP.format(key),
                detail=detail,
            )
            for key, value, accepted, detail in (
                ("defaultProfileName", "*", "docker/default", "must be a valid seccomp profile"),
                ("defaultProfileName", "localhost//a", "localhost/a", "must be a relative path"),
                ("defaultProfileName", "localhost/../a", "localhost/b..", "must not contain '..'"),
                ("allowedProfileNames", "runtime/default,mine", "*,localhost/a", "must be a valid seccomp profile"),
            )
        ],  # fmt: skip
        52: Accepted(change={"spec.privileged": True, "spec.volumes": ["*"], "spec.runAsUser.rule": "MustRunAs"}),
        53: Stored(expected={"metadata.generation": GONE}),
        54: Shown(f"{__name__}.PolicyTests.test_older_versions"),
    }

    def test_status_of_main_path(self) -> None:
        """A status that cannot be written there is not looked at."""
        answer = self.send("POST", BUDGETS, {**BUDGET, "status": {"disruptionsAllowed": -1}})
        self.assertEqual((answer.code, answer.json["status"]["disruptionsAllowed"]), (201, 0))

    def test_status_of_older_version(self) -> None:
        """Through policy/v1beta1 counts may be anything, as ever; conditions have their rules."""
        self.done("POST", BUDGETS, {**BUDGET, "metadata": {"name": "o"}})
        path = "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets/o/status"
        live = self.done("GET", path)
        live["status"] = {"disruptionsAllowed": -1}
        live = self.done("PUT", path, live)
        self.assertEqual(live["status"]["disruptionsAllowed"], -1)
        live["status"]["conditions"] = [CONDITION, CONDITION]
        (cause,) = self.send("PUT", path, live).json["details"]["causes"]
        self.assertEqual((cause["reason"], cause["field"]), ("FieldValueDuplicate", "status.conditions[1].type"))

    def test_older_versions(self) -> None:
        """Requests to policy/v1beta1 return a deprecation warning."""
        text = "policy/v1beta1 {} is deprecated in v1.21+, unavailable in v1.25+"
        answer = self.send("GET", "/apis/policy/v1beta1/namespaces/default/poddisruptionbudgets")
        expected = text.format("PodDisruptionBudget") + "; use policy/v1 PodDisruptionBudget"
        self.assertIn(expected, answer.headers["warning"])
        self.assertIn(text.format("PodSecurityPolicy"), self.send("GET", POLICIES).headers["warning"])

    def test_dry_run_twice(self) -> None:
        """An eviction that says in two places whether it is a dry run says the same."""
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        pods = "/api/v1/namespaces/default/pods"
        self.done("POST", pods, pod)
        for given, code in ((["All", "All"], 400), (["All"], 201), ([], 201)):
            eviction = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": given}}
            answer = self.send("POST", f"{pods}/p/eviction?dryRun=All", eviction)
            self.assertEqual(answer.code, code)
            if code == 400:
                text = (
                    "invalid dryRun option: Non-matching dry-run options in request and content: [All] and [All All]"
                )
                self.assertEqual(answer.json["message"], text)
        self.done("GET", f"{pods}/p")
