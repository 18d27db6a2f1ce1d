"""Questions about rights (reference AUTHZ-26 to AUTHZ-29)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Refused, Shown, Stored

V1 = "authorization.orch.io/v1"
ALL = f"/apis/{V1}"
RESOURCE = {"verb": "get", "resource": "pods", "namespace": "default"}
PATH = {"verb": "get", "path": "/metrics"}
REVIEW = {
    "apiVersion": V1,
    "kind": "SubjectAccessReview",
    "metadata": {},
    "spec": {"user": "ann", "resourceAttributes": RESOURCE},
}
SELF = {**REVIEW, "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": RESOURCE}}
LOCAL = {**REVIEW, "kind": "LocalSubjectAccessReview"}
RULES = {**REVIEW, "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}
RESOURCES, PATHS = "spec.resourceAttributes", "spec.nonResourceAttributes"
OWNED = [
    {"manager": "m", "operation": "Update", "apiVersion": V1, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}
]


class AuthorizationTests(case.EntryCase):
    file = "authorization.json"
    bases = {
        "SubjectAccessReview": Base(path=f"{ALL}/subjectaccessreviews", obj=REVIEW),
        "SelfSubjectAccessReview": Base(path=f"{ALL}/selfsubjectaccessreviews", obj=SELF),
        "LocalSubjectAccessReview": Base(path=f"{ALL}/namespaces/default/localsubjectaccessreviews", obj=LOCAL),
        "SelfSubjectRulesReview": Base(path=f"{ALL}/selfsubjectrulesreviews", obj=RULES),
    }
    examples = {
        0: Refused(change={PATHS: PATH}, accepts={RESOURCES: GONE, PATHS: PATH}),
        1: Refused(change={RESOURCES: GONE}),
        2: Refused(change={"spec.user": ""}, accepts={"spec.user": GONE, "spec.groups": ["g"]}),
        3: (
            Refused(change={"metadata.name": "a"}, accepts={"metadata.managedFields": OWNED}),
            Refused(change={"metadata.labels": {"a": "b"}}),
            Refused(change={"metadata.namespace": "default"}),
        ),
        4: Refused(change={PATHS: PATH}),
        5: Refused(change={RESOURCES: GONE}),
        6: Refused(change={"metadata.annotations": {"a": "b"}}, accepts={"metadata.creationTimestamp": None}),
        7: (
            Refused(change={RESOURCES: GONE}, field=RESOURCES, detail="exactly one of nonResourceAttributes or"),
            Refused(change={"spec.user": GONE}, field="spec.user", detail="at least one of user or group must be"),
        ),
        8: Refused(change={"metadata.name": "a"}, accepts={"metadata.namespace": "default"}),
        9: Refused(change={f"{RESOURCES}.namespace": "other"}),
        10: Refused(change={PATHS: PATH}),
        11: Shown(f"{__name__}.AuthorizationTests.test_other_namespace"),
        12: Refused(change={"spec.namespace": ""}, code=400, detail="no namespace on request"),
        13: (
            Stored(expected={"status.incomplete": False, "metadata.uid": GONE}),
            Shown("tests.verbs.test_subject_access_review.AccessTests.test_nothing_is_stored"),
            Accepted(change={}),
        ),
    }

    def test_other_namespace(self) -> None:
        """A question about another namespace than that of the request is a 400, though it is at one with itself."""
        spec = {"user": "ann", "resourceAttributes": {**RESOURCE, "namespace": "other"}}
        path = f"{ALL}/namespaces/default/localsubjectaccessreviews"
        answer = self.send("POST", path, {**LOCAL, "metadata": {"namespace": "other"}, "spec": spec})
        self.assertEqual(answer.code, 400)
        self.assertIn("must match namespace: default", answer.json["message"])

    def test_message(self) -> None:
        """A refusal names the group, and no kind."""
        answer = self.send("POST", f"{ALL}/subjectaccessreviews", {"spec": {"user": "ann"}})
        self.assertTrue(answer.json["message"].startswith('.authorization.orch.io "" is invalid: spec.'), answer.body)
