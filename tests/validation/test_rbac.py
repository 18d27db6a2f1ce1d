"""Roles and bindings (reference KIND-34)."""
# covers: orchtw.registry.groups.rbac

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

V1 = "rbac.authorization.orch.io/v1"
ALL = f"/apis/{V1}"
NAMESPACE = f"{ALL}/namespaces/default"
GROUP = "rbac.authorization.orch.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
ROLE = {"apiVersion": V1, "kind": "Role", "metadata": {"name": "a"}, "rules": [RULE]}
CLUSTER_ROLE = {**ROLE, "kind": "ClusterRole"}
BINDING = {
    "apiVersion": V1,
    "kind": "RoleBinding",
    "metadata": {"name": "a"},
    "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "n"}, {"kind": "User", "name": "u"}],
}
CLUSTER_BINDING = {**BINDING, "kind": "ClusterRoleBinding"}
ESCALATION = "tests.authz.test_live_roles.EscalationTests"
UNSELECTABLE = {"matchLabels": {"a": "b c"}}


class RbacTests(case.EntryCase):
    file = "rbac.json"
    bases = {
        "Role": Base(path=f"{NAMESPACE}/roles", obj=ROLE),
        "ClusterRole": Base(path=f"{ALL}/clusterroles", obj=CLUSTER_ROLE),
        "RoleBinding": Base(path=f"{NAMESPACE}/rolebindings", obj=BINDING),
        "ClusterRoleBinding": Base(path=f"{ALL}/clusterrolebindings", obj=CLUSTER_BINDING),
    }
    examples = {
        0: Refused(change={"metadata.name": "a/b"}, accepts={"metadata.name": "system:A b"}),
        1: (Refused(change={"rules[0].verbs": []}), Refused(on="update", change={"rules[0].verbs": []})),
        2: Refused(change={"rules[0].nonResourceURLs": ["/a"]}),
        3: (
            Refused(change={"rules[0].apiGroups": []}),
            Refused(change={"rules[0].apiGroups": GONE}),
        ),
        4: Refused(change={"rules[0].resources": []}),
        5: Accepted(change={"rules[0]": {"verbs": ["do it"], "apiGroups": ["A b"], "resources": ["/ /"]}}),
        6: Stored(expected={"metadata.generation": GONE}),
        7: (Shown(f"{ESCALATION}.test_role"), Shown(f"{ESCALATION}.test_update_for_the_collector")),
        8: Shown(f"{__name__}.RbacTests.test_create_by_update"),
        9: Refused(change={"metadata.name": ".."}, accepts={"metadata.name": "system:a"}),
        10: Refused(change={"rules[0].verbs": []}),
        11: (
            Refused(
                change={"rules[0].nonResourceURLs": ["/a"]},
                accepts={"rules[0]": {"verbs": ["get"], "nonResourceURLs": ["/a"]}},
            ),
            Refused(change={"rules[0]": {"verbs": ["get"], "nonResourceURLs": ["/a"], "resourceNames": ["n"]}}),
        ),
        12: Refused(change={"rules[0].apiGroups": []}),
        13: Refused(change={"rules[0].resources": []}),
        14: (
            Refused(change={"aggregationRule": {}}),
            Refused(change={"aggregationRule": {"clusterRoleSelectors": []}}),
        ),
        15: (
            Refused(
                change={"aggregationRule": {"clusterRoleSelectors": [{}, UNSELECTABLE]}},
                accepts={"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}},
            ),
            Refused(
                change={"aggregationRule": {"clusterRoleSelectors": [UNSELECTABLE]}},
                field="aggregationRule.clusterRoleSelectors[0].matchLabels",
                detail="a valid label must be",
            ),
        ),
        16: Stored(on="update", change={"rules": GONE}, expected={"metadata.generation": GONE}),
        17: Shown(f"{ESCALATION}.test_role"),
        18: Shown(f"{ESCALATION}.test_aggregation"),
        19: Shown(f"{__name__}.RbacTests.test_create_by_update"),
        20: Refused(change={"metadata.name": "a%b"}),
        21: (
            Refused(change={"roleRef.apiGroup": "apps"}, detail=f'supported values: "{GROUP}"'),
            Stored(change={"roleRef.apiGroup": GONE}, expected={"roleRef.apiGroup": GROUP}),
        ),
        22: Refused(change={"roleRef.kind": "Rule"}, accepts={"roleRef.kind": "Role"}),
        23: Refused(change={"roleRef.name": ""}),
        24: Refused(change={"roleRef.name": "a/b"}, accepts={"roleRef.name": "system:b"}),
        25: (
            Refused(change={"subjects[1].name": ""}),
            Refused(change={"subjects[0].name": ""}, field="subjects[0].name"),
        ),
        26: Refused(
            change={"subjects[1].kind": "Robot"}, detail='supported values: "ServiceAccount", "User", "Group"'
        ),
        27: Refused(change={"subjects[0].name": "A"}, accepts={"subjects[1].name": "A"}),
        28: Refused(change={"subjects[0].apiGroup": GROUP}),
        29: Stored(change={"subjects[0].namespace": GONE}, expected={"subjects[0].namespace": GONE}),
        30: (
            Refused(change={"subjects[1].apiGroup": "apps"}),
            Stored(
                change={"subjects[0]": {"kind": "Group", "name": "g"}},
                expected={"subjects[0].apiGroup": GROUP, "subjects[1].apiGroup": GROUP},
            ),
        ),
        31: (
            Refused(change={"roleRef.name": "s"}),
            Refused(change={"roleRef.kind": "Role"}),
        ),
        32: (Accepted(change={"subjects": []}), Accepted(change={"subjects[1].name": "v"})),
        33: Stored(expected={"metadata.generation": GONE}),
        34: Shown(f"{ESCALATION}.test_binding"),
        35: Shown(f"{ESCALATION}.test_missing_role"),
        36: Shown(f"{__name__}.RbacTests.test_create_by_update"),
        37: Refused(change={"metadata.name": "a/b"}),
        38: Refused(change={"roleRef.apiGroup": "apps"}),
        39: Refused(change={"roleRef.kind": "Role"}),
        40: Refused(change={"roleRef.name": ""}),
        41: Refused(change={"roleRef.name": "."}),
        42: Refused(change={"subjects[0].name": "A"}, field="subjects[0].name"),
        43: Refused(change={"subjects[0].namespace": GONE}),
        44: Refused(change={"roleRef.name": "s"}),
        45: Stored(expected={"metadata.generation": GONE}),
        46: Shown(f"{ESCALATION}.test_binding"),
        47: Shown(f"{__name__}.RbacTests.test_create_by_update"),
    }

    def test_create_by_update(self) -> None:
        """A PUT of a name that is not there creates it."""
        for base in self.bases.values():
            answer = self.send("PUT", f"{base.path}/new", {**base.obj, "metadata": {"name": "new"}})
            self.assertEqual(answer.code, 201)
