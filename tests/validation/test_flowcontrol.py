"""Flow schemas and priority levels (reference FLOW-3, KIND-34)."""
# covers: orchtw.registry.groups.flowcontrol.flow_schemas, orchtw.registry.groups.flowcontrol.priority_levels

from __future__ import annotations

from orchtw.registry.groups.flowcontrol.mandatory import FLOW_SCHEMAS, PRIORITY_LEVELS
from tests.validation import case
from tests.validation.examples import GONE, Base, Refused, Shown, Stored

V1 = "flowcontrol.apiserver.orch.io/v1beta2"
SCHEMAS, LEVELS = f"/apis/{V1}/flowschemas", f"/apis/{V1}/prioritylevelconfigurations"
RESOURCES = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "namespaces": ["default"]}
PATHS = {"verbs": ["get"], "nonResourceURLs": ["/healthz"]}
ACCOUNT = {"kind": "ServiceAccount", "serviceAccount": {"name": "s", "namespace": "n"}}
USER = {"kind": "User", "user": {"name": "u"}}
GROUP = {"kind": "Group", "group": {"name": "g"}}
SCHEMA = {
    "apiVersion": V1,
    "kind": "FlowSchema",
    "metadata": {"name": "a"},
    "spec": {
        "priorityLevelConfiguration": {"name": "p"},
        "rules": [{"subjects": [ACCOUNT, USER, GROUP], "resourceRules": [RESOURCES], "nonResourceRules": [PATHS]}],
    },
}
QUEUES = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
LEVEL = {
    "apiVersion": V1,
    "kind": "PriorityLevelConfiguration",
    "metadata": {"name": "a"},
    "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": QUEUES}}},
}
RULE = "spec.rules[0]"
SUBJECTS, RESOURCE, PATH = f"{RULE}.subjects", f"{RULE}.resourceRules[0]", f"{RULE}.nonResourceRules[0]"
RESPONSE = "spec.limited.limitResponse"
QUEUING = f"{RESPONSE}.queuing"
CONDITION = {"type": "Dangling", "status": "True"}


class FlowcontrolTests(case.EntryCase):
    file = "flowcontrol.json"
    bases = {
        "FlowSchema": Base(path=SCHEMAS, obj=SCHEMA),
        "PriorityLevelConfiguration": Base(path=LEVELS, obj=LEVEL),
    }
    examples = {
        0: (
            Refused(change={"spec.matchingPrecedence": -1}, accepts={"spec.matchingPrecedence": 2}),
            Refused(change={"spec.matchingPrecedence": 10001}, accepts={"spec.matchingPrecedence": 10000}),
        ),
        1: Refused(change={"spec.matchingPrecedence": 1}),
        2: Refused(
            change={"spec.distinguisherMethod": {"type": "ByName"}},
            accepts={"spec.distinguisherMethod": {"type": "ByUser"}},
            detail='supported values: "ByNamespace", "ByUser"',
        ),
        3: Refused(change={"spec.priorityLevelConfiguration.name": ""}),
        4: Refused(change={"spec.priorityLevelConfiguration.name": "A"}),
        5: Refused(change={SUBJECTS: []}),
        6: Refused(
            change={f"{RULE}.resourceRules": [], f"{RULE}.nonResourceRules": GONE},
            accepts={f"{RULE}.nonResourceRules": GONE},
        ),
        7: Refused(
            change={f"{SUBJECTS}[0].kind": "Robot"}, detail='supported values: "Group", "ServiceAccount", "User"'
        ),
        8: Refused(change={f"{SUBJECTS}[0].serviceAccount": GONE}),
        9: Refused(change={f"{SUBJECTS}[1].user": GONE}),
        10: Refused(change={f"{SUBJECTS}[2].group": GONE}),
        11: (
            Refused(change={f"{SUBJECTS}[2].user": {"name": "u"}}),
            Refused(
                change={f"{SUBJECTS}[1].serviceAccount": {"name": "u", "namespace": "n"}},
                detail="serviceAccount is forbidden when subject kind is not 'ServiceAccount'",
            ),
        ),
        12: Refused(change={f"{SUBJECTS}[0].serviceAccount.name": ""}),
        13: Refused(
            change={f"{SUBJECTS}[0].serviceAccount.name": "A"}, accepts={f"{SUBJECTS}[0].serviceAccount.name": "*"}
        ),
        14: Refused(change={f"{SUBJECTS}[0].serviceAccount.namespace": ""}),
        15: Refused(change={f"{SUBJECTS}[0].serviceAccount.namespace": "a.b"}),
        16: Refused(change={f"{SUBJECTS}[1].user.name": ""}, accepts={f"{SUBJECTS}[1].user.name": "*"}),
        17: Refused(change={f"{SUBJECTS}[2].group.name": ""}),
        18: Refused(change={f"{RESOURCE}.verbs": []}),
        19: Refused(change={f"{RESOURCE}.verbs": ["*", "get"]}, accepts={f"{RESOURCE}.verbs": ["*"]}),
        20: Refused(
            change={f"{RESOURCE}.verbs": ["get", "head"]},
            accepts={f"{RESOURCE}.verbs": ["get", "proxy", "deletecollection"]},
            detail='supported values: "create", "delete", "deletecollection", "get"',
        ),
        21: (
            Refused(change={f"{RESOURCE}.apiGroups": []}),
            Refused(on="update", change={f"{RESOURCE}.apiGroups": GONE}),
            Shown(f"{__name__}.FlowcontrolTests.test_all_stands_alone"),
        ),
        22: (
            Refused(change={f"{RESOURCE}.resources": []}),
            Shown(f"{__name__}.FlowcontrolTests.test_all_stands_alone"),
        ),
        23: Refused(
            change={f"{RESOURCE}.namespaces": []},
            accepts={f"{RESOURCE}.namespaces": [], f"{RESOURCE}.clusterScope": True},
        ),
        24: Refused(change={f"{RESOURCE}.namespaces": ["*", "a"]}, accepts={f"{RESOURCE}.namespaces": ["*"]}),
        25: Refused(change={f"{RESOURCE}.namespaces": ["a", "A"]}, field=f"{RESOURCE}.namespaces[1]"),
        26: Refused(change={f"{PATH}.verbs": []}, detail="verbs must contain at least one value"),
        27: Refused(change={f"{PATH}.nonResourceURLs": []}),
        28: Refused(change={f"{PATH}.nonResourceURLs": ["*", "/a"]}, accepts={f"{PATH}.nonResourceURLs": ["*"]}),
        29: (
            Refused(change={f"{PATH}.nonResourceURLs": ["a"]}, accepts={f"{PATH}.nonResourceURLs": ["/", "/a/*"]}),
            Refused(change={f"{PATH}.nonResourceURLs": ["/a b"]}, detail="must not contain white-space"),
            Refused(change={f"{PATH}.nonResourceURLs": ["/a//b"]}, detail="must not contain double slash"),
            Refused(change={f"{PATH}.nonResourceURLs": ["/a*"]}, detail="wildcard can only do suffix matching"),
            Refused(change={f"{PATH}.nonResourceURLs": ["/*/*"]}, detail="wildcard can only do suffix matching"),
            Refused(change={f"{PATH}.nonResourceURLs": [""]}, detail="must not be empty"),
        ),
        30: Shown(f"{__name__}.FlowcontrolTests.test_mandatory_objects"),
        31: Refused(change={"status.conditions": [{**CONDITION, "type": ""}]}),
        32: Refused(change={"status.conditions": [CONDITION, CONDITION]}, accepts={"status.conditions": [CONDITION]}),
        33: Stored(change={"status.conditions": [CONDITION]}, expected={"status": {}}),
        34: Stored(expected={"metadata.generation": 1}),
        35: (
            Stored(change={"spec.matchingPrecedence": 7}, expected={"metadata.generation": 2}),
            Stored(change={"metadata.labels": {"a": "b"}}, expected={"metadata.generation": 1}),
        ),
        36: Stored(change={"status.conditions": [CONDITION]}, expected={"status": {}}),
        37: Stored(
            change={
                "spec.matchingPrecedence": 7,
                "metadata.labels": {"a": "b"},
                "status.conditions": [CONDITION],
            },
            expected={
                "spec.matchingPrecedence": 1000,
                "metadata.labels": GONE,
                "status.conditions[0].type": "Dangling",
            },
        ),
        39: (
            Refused(change={"spec": {"type": "Exempt"}}),
            Refused(change={"metadata.name": "exempt"}),
        ),
        40: Refused(change={"spec.type": "Endless"}, detail='supported values: "Exempt", "Limited"'),
        41: Refused(change={"spec.type": "Exempt"}),
        42: Refused(change={"spec.limited": GONE}),
        43: (
            Refused(
                change={"spec.limited.assuredConcurrencyShares": -1},
                accepts={"spec.limited.assuredConcurrencyShares": 1},
            ),
            Stored(
                change={"spec.limited.assuredConcurrencyShares": 0},
                expected={"spec.limited.assuredConcurrencyShares": 30},
            ),
        ),
        44: Refused(change={f"{RESPONSE}.type": "Wait"}, detail='supported values: "Queue", "Reject"'),
        45: Refused(change={f"{RESPONSE}.type": "Reject"}, accepts={RESPONSE: {"type": "Reject"}}),
        46: Refused(change={QUEUING: GONE}),
        47: Refused(change={f"{QUEUING}.queueLengthLimit": -1}, accepts={f"{QUEUING}.queueLengthLimit": 1}),
        48: (
            Refused(change={f"{QUEUING}.queues": -1}),
            Refused(
                change={f"{QUEUING}.queues": 10_000_001, f"{QUEUING}.handSize": 1},
                accepts={f"{QUEUING}.queues": 10_000_000, f"{QUEUING}.handSize": 1},
            ),
        ),
        49: (
            Refused(change={f"{QUEUING}.handSize": -1}),
            Refused(change={f"{QUEUING}.handSize": 65}),
        ),
        50: (
            Refused(
                change={f"{QUEUING}.queues": 10_000, f"{QUEUING}.handSize": 8},
                accepts={f"{QUEUING}.queues": 10_000, f"{QUEUING}.handSize": 4},
            ),
            Refused(
                change={f"{QUEUING}.queues": 10_000_000, f"{QUEUING}.handSize": 10_000_000},
                detail="required entropy bits of deckSize 10000000 and handSize 10000000",
            ),
        ),
        51: Shown(f"{__name__}.FlowcontrolTests.test_mandatory_objects"),
        52: (
            Refused(change={"status.conditions": [{**CONDITION, "type": ""}]}, field="status.conditions[0].type"),
            Shown(f"{__name__}.FlowcontrolTests.test_conditions_of_levels"),
        ),
        53: Stored(change={"status.conditions": [CONDITION]}, expected={"status": {}}),
        54: Stored(expected={"metadata.generation": 1}),
        55: Stored(change={"spec.limited.assuredConcurrencyShares": 7}, expected={"metadata.generation": 2}),
        56: Stored(change={"status.conditions": [CONDITION]}, expected={"status": {}}),
        57: Stored(
            change={
                "spec.limited.assuredConcurrencyShares": 7,
                "metadata.annotations": {"a": "b"},
                "status.conditions": [CONDITION],
            },
            expected={
                "spec.limited.assuredConcurrencyShares": 30,
                "metadata.annotations": GONE,
                "status.conditions[0].type": "Dangling",
            },
        ),
        58: Shown(f"{__name__}.FlowcontrolTests.test_deprecated_version"),
    }
    beyond = (38,)  # what the server makes of its own objects by and by

    def test_all_stands_alone(self) -> None:
        """A wildcard of groups or resources stands alone."""
        for key, what in (("apiGroups", "api groups"), ("resources", "resources")):
            rules = [{"subjects": [USER], "resourceRules": [{**RESOURCES, key: ["*", "a"]}]}]
            spec = {"priorityLevelConfiguration": {"name": "p"}, "rules": rules}
            answer = self.send("POST", SCHEMAS, {**SCHEMA, "spec": spec})
            (cause,) = answer.json["details"]["causes"]
            self.assertEqual(cause["field"], f"{RESOURCE}.{key}")
            self.assertIn(f"if '*' is present, must not specify other {what}", cause["message"])

    def test_mandatory_objects(self) -> None:
        """Objects of the two names have their own specs, and no others."""
        for base, path, specs in ((SCHEMA, SCHEMAS, FLOW_SCHEMAS), (LEVEL, LEVELS, PRIORITY_LEVELS)):
            for name, spec in specs.items():
                obj = {**base, "metadata": {"name": name}}
                answer = self.send("POST", path, obj)
                self.assertEqual(answer.code, 422)
                self.assertIn(f"spec of '{name}' must equal the fixed value", answer.json["message"])
                made = self.done("GET", f"{path}/{name}")  # the server has made it
                self.assertEqual(made["spec"], spec)
                made["spec"] = base["spec"]
                self.assertEqual(self.code("PUT", f"{path}/{name}", made), 422)

    def test_conditions_of_levels(self) -> None:
        """No type of condition comes twice."""
        made = self.done("POST", LEVELS, LEVEL)
        answer = self.send("PUT", f"{LEVELS}/a/status", {**made, "status": {"conditions": [CONDITION, CONDITION]}})
        self.assertEqual([cause["reason"] for cause in answer.json["details"]["causes"]], ["FieldValueDuplicate"])

    def test_deprecated_version(self) -> None:
        """Each request in v1beta1 is told that it is deprecated."""
        for path in (SCHEMAS, LEVELS):
            answer = self.send("GET", path.replace("v1beta2", "v1beta1"))
            self.assertIn("is deprecated in v1.23+, unavailable in v1.26+", answer.headers["warning"])

    def test_default_precedence(self) -> None:
        """One who does not say has a precedence of 1000."""
        self.assertEqual(self.done("POST", SCHEMAS, SCHEMA)["spec"]["matchingPrecedence"], 1000)
