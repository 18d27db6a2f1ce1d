"""What holds for every kind: metadata, options, selectors, conditions, formats, names (reference OBJ-1)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attrs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.attributes import Attributes
from orchtw.naming import Naming
from orchtw.objects import Object
from orchtw.registry.strategies import KINDS
from orchtw.registry.traits import GENERIC
from orchtw.rules import addresses, file_paths, names, ports
from orchtw.rules.names import LABEL_1035_NAME, LABEL_NAME, PATH_SEGMENT_NAME, SUBDOMAIN_NAME, NameForm
from orchtw.schema.catalogue import Catalogue
from tests.validation import case
from tests.validation.examples import (
    GONE,
    Accepted,
    Base,
    Changes,
    Entry,
    Example,
    Refused,
    Shown,
    Stored,
    Warned,
)
from tests.validation.paths import changed
from tests.verbs.served import APPLY, MERGE, ServedCase

NAMESPACED = "/api/v1/namespaces/default"
MAPS = f"{NAMESPACED}/configmaps"
MAP: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
ENTRY = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}}
POLICIES = "/apis/networking.orch.io/v1/namespaces/default/networkpolicies"
POLICY: Object = {
    "apiVersion": "networking.orch.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "a"},
    "spec": {"podSelector": {}},
}
CONDITION = {
    "type": "example.com/Ready",
    "status": "True",
    "reason": "Because",
    "message": "",
    "lastTransitionTime": "2024-01-01T00:00:00Z",
}
SELECTOR = "spec.podSelector"
SURGE = "spec.strategy.rollingUpdate.maxSurge"
POD = "spec.template.spec"
DELETION = "tests.end_to_end.test_deletion.DeleteTests"
GRACE = "tests.registry.test_deletion.GraceTests"
PROPAGATION = "tests.registry.test_deletion.PropagationTests"
OPTIONS = "tests.rules.test_options"
KIND_TRAITS = "tests.registry.test_kinds.TraitsTests"
FORMAT_TESTS = "tests.rules.test_names"


@attrs.frozen(slots=True, kw_only=True)
class Asked(Example):
    """A request about a config map `a`, which is there, is answered so."""

    method: str
    query: str = ""
    body: Any = None
    headers: Any = None
    code: int = 422
    text: str = ""

    def run(self, case: case.EntryCase, entry: Entry) -> None:
        case.done("POST", MAPS, MAP)
        body = changed(MAP, {"metadata.name": "b"}) if self.method == "POST" else self.body
        path = MAPS if self.method == "POST" else f"{MAPS}/a"
        answer = case.send(self.method, path + self.query, body, self.headers)
        for name in ("a", "b", "ax"):
            case.send("DELETE", f"{MAPS}/{name}")
        assert answer.code == self.code, (answer.code, answer.body[:600])
        if self.code == 422:
            causes = [each for each in answer.json["details"]["causes"] if each["field"] == entry.path]
            assert [each["reason"] for each in causes] == [entry.reason], answer.json
            said = causes[0]["message"]
        else:
            said = answer.json.get("message", "")
        assert any(re.search(each, said) for each in ([self.text] if self.text else entry.details)), said


def long(size: int) -> str:
    """A text of that length."""
    return "x" * size


def managed(**change: Any) -> Changes:
    """A change that brings entries of managedFields."""
    return {"metadata.managedFields": [{**ENTRY, "manager": "m", **change}]}


def owned(**change: Any) -> Changes:
    """A change that names an owner."""
    return {"metadata.ownerReferences": [{**OWNER, **change}]}


def selected(**selector: Any) -> Changes:
    """A change that selects pods."""
    return {SELECTOR: selector}


def selected_by(**expression: Any) -> Changes:
    """The same by an expression."""
    return selected(matchExpressions=[{"key": "a", "operator": "Exists", **expression}])


def observed(**change: Any) -> Changes:
    """A change that observes something."""
    return {
        "status.conditions": [{key: value for key, value in {**CONDITION, **change}.items() if value is not GONE}]
    }


def refused_selector(change: Changes, accepts: Changes, place: str) -> Refused:
    """Selectors are refused at a place below the field."""
    return Refused(change=change, accepts=accepts, field=f"{SELECTOR}.{place}")


def refused_condition(accepts: Changes, **change: Any) -> Refused:
    """A condition is refused for one of its fields."""
    (key,) = change
    return Refused(on="status", change=observed(**change), accepts=accepts, field=f"status.conditions[0].{key}")


def mode(value: int) -> Changes:
    """A change that sets the mode of the files in a volume."""
    return {f"{POD}.volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": value}}]}


def driver(name: str) -> Changes:
    """A change that adds a volume of a CSI driver."""
    return {f"{POD}.volumes": [{"name": "v", "csi": {"driver": name}}]}


def options(method: str, first: int, **more: Any) -> dict[int, Asked | list[Asked]]:
    """The examples of fieldManager, dryRun and fieldValidation, whose entries follow each other."""
    return {
        first: Asked(method=method, query=f"?fieldManager={long(129)}", text="Too long", **more),
        first + 1: Asked(method=method, query="?fieldManager=a%07", text="invalid character", **more),
        first + 2: Asked(method=method, query="?dryRun=Some", **more),
        first + 3: [
            Asked(method=method, query="?fieldValidation=Loud", **more),
            *(
                Asked(method=method, query=f"?fieldValidation={value}", text="^", code=code, **more)
                for value in ("Strict", "Warn", "Ignore")
                for code in ((201,) if method == "POST" else (200,))
            ),
        ],
    }


class MetaTests(case.EntryCase):
    file = "meta.json"
    bases = {
        "ObjectMeta": Base(path=MAPS, obj=MAP),
        "LabelSelector": Base(path=POLICIES, obj=POLICY),
        "Condition": Base(path=POLICIES, obj=POLICY),
        "Deployment": Base(
            path="/apis/apps/v1/namespaces/default/deployments",
            obj={
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "a"},
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            },
        ),
        "PriorityClass": Base(
            path="/apis/scheduling.orch.io/v1/priorityclasses",
            obj={
                "apiVersion": "scheduling.orch.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "a"},
                "value": 1,
            },
        ),
        "Lease": Base(
            path="/apis/coordination.orch.io/v1/namespaces/default/leases",
            obj={
                "apiVersion": "coordination.orch.io/v1",
                "kind": "Lease",
                "metadata": {"name": "a"},
                "spec": {},
            },
        ),
        "ClusterRole": Base(
            path="/apis/rbac.authorization.orch.io/v1/clusterroles",
            obj={
                "apiVersion": "rbac.authorization.orch.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "a"},
                "rules": [],
            },
        ),
        "Node": Base(path="/api/v1/nodes", obj={"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}),
        "APIService": Base(
            path="/apis/apiregistration.orch.io/v1/apiservices",
            obj={
                "apiVersion": "apiregistration.orch.io/v1",
                "kind": "APIService",
                "metadata": {"name": "v1.g"},
                "spec": {"group": "g", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10},
            },
        ),
    }
    examples = {
        0: Refused(change={"metadata.name": GONE}, accepts={"metadata.name": GONE, "metadata.generateName": "a-"}),
        1: [
            Refused(change={"metadata.name": "A_b"}, detail="RFC 1123 subdomain"),
            Shown("tests.rules.test_metadata.UpdateTests.test_old_names_live_on"),
        ],
        2: [
            Refused(kind="ClusterRole", change={"metadata.name": name}, accepts=None)
            for name in (".", "..", "a/b", "a%")
        ],
        3: [
            Refused(change={"metadata.generateName": "A_"}),
            Refused(change={"metadata.name": GONE, "metadata.generateName": "A_"}),
        ],
        4: [
            Accepted(change={"metadata.generateName": "ab-"}),
            Refused(change={"metadata.generateName": "-"}, field="metadata.generateName"),
        ],
        5: [
            Refused(kind="ClusterRole", change={"metadata.generateName": "a/"}),
            Accepted(kind="ClusterRole", change={"metadata.generateName": "..", "metadata.name": "dots"}),
        ],
        6: Stored(expected={"metadata.namespace": "default"}),
        7: Shown("tests.rules.test_metadata.CreateTests.test_namespace"),
        8: Shown("tests.rules.test_metadata.CreateTests.test_namespace"),
        9: Refused(change={"metadata.generation": -1}, accepts={"metadata.generation": 0}),
        10: Refused(change={"metadata.labels": {"a b": "c"}}, accepts={"metadata.labels": {"x.y/a": "c"}}),
        11: Refused(change={"metadata.labels.a": "b c"}, accepts={"metadata.labels.a": ""}),
        12: Refused(change={"metadata.annotations": {"a b": ""}}, accepts={"metadata.annotations": {"X.Y/a": "b c"}}),
        13: Shown("tests.rules.test_metadata.CreateTests.test_annotations"),
        14: [Refused(change=owned(apiVersion="")), Refused(change=owned(apiVersion="apps/"), accepts=owned())],
        15: Refused(change=owned(kind="")),
        16: Refused(change=owned(name="")),
        17: Refused(change=owned(uid="")),
        18: Refused(change=owned(kind="Event"), accepts=owned(kind="Event", apiVersion="events.orch.io/v1")),
        19: Refused(
            change={
                "metadata.ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "v", "controller": True}]
            },
            accepts={"metadata.ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "v"}]},
            detail='Found "true" in references for Pod/p and Pod/p',
        ),
        20: [
            Shown(f"{__name__}.OwnerTests.test_after_admission"),
            Warned(
                change={"metadata.ownerReferences": [OWNER, OWNER]},
                text=".metadata.ownerReferences contains duplicate entries",
                accepts=owned(),
            ),
            Stored(
                change={"metadata.ownerReferences": [OWNER, OWNER]},
                expected={"metadata.ownerReferences[0].uid": "u", "metadata.ownerReferences[1]": GONE},
            ),
        ],
        21: Refused(change={"metadata.finalizers": ["a b"]}, accepts={"metadata.finalizers": ["x.y/a"]}),
        22: [
            Refused(
                change={"metadata.finalizers": ["mine"]},
                accepts={"metadata.finalizers": ["orch", "orphan", "example.com/a"]},
            ),
            Accepted(kind="Lease", change={"metadata.finalizers": ["mine"]}),
        ],
        23: Refused(change={"metadata.finalizers": ["orphan", "foregroundDeletion"]}),
        24: Shown(f"{DELETION}.test_no_new_finalizers"),
        25: [
            Shown("tests.rules.test_field_managers.EntryTests.test_unknown"),
            Stored(
                on="update",
                change=managed(operation="Delete"),
                expected={"metadata.managedFields[0].operation": "Update"},
            ),
        ],
        26: Shown("tests.rules.test_field_managers.EntryTests.test_unknown"),
        27: Refused(
            on="update", change=managed(manager=long(129)), accepts=managed(), detail="must have at most 128 bytes"
        ),
        28: Refused(on="update", change=managed(manager="\x07")),
        29: Refused(
            on="update", change=managed(subresource=long(257)), field="metadata.managedFields[0].subresource"
        ),
        30: [
            Warned(change={"metadata.clusterName": "x"}, text="metadata.clusterName was specified."),
            Stored(change={"metadata.clusterName": "x"}, expected={"metadata.clusterName": GONE}),
        ],
        31: Refused(kind="Lease", change={"metadata.resourceVersion": GONE}),
        32: Refused(
            change={"metadata.resourceVersion": "1"}, code=409, detail="the object has been modified; please apply"
        ),
        33: Shown("tests.rules.test_metadata.UpdateTests.test_generation"),
        34: [
            Shown("tests.rules.test_metadata.UpdateTests.test_immutable"),
            Refused(change={"metadata.name": "other"}, code=400, detail="does not match the name on the URL"),
        ],
        35: [
            Shown("tests.rules.test_metadata.UpdateTests.test_immutable"),
            Refused(change={"metadata.namespace": "other"}, code=400, detail="does not match the namespace"),
        ],
        36: [
            Refused(
                change={"metadata.uid": "other"}, code=409, detail="Precondition failed: UID in precondition: other"
            ),
            Shown("tests.rules.test_metadata.UpdateTests.test_immutable"),
        ],
        37: Shown(f"{__name__}.ServerFieldsTests.test_update"),
        38: Shown(f"{__name__}.ServerFieldsTests.test_update"),
        39: Shown(f"{__name__}.ServerFieldsTests.test_update"),
        40: Stored(
            change={"metadata.deletionTimestamp": "2024-01-01T00:00:00Z"},
            expected={"metadata.deletionTimestamp": GONE},
        ),
        41: Stored(
            change={"metadata.deletionGracePeriodSeconds": 3}, expected={"metadata.deletionGracePeriodSeconds": GONE}
        ),
        42: Shown(f"{__name__}.ServerFieldsTests.test_create"),
        43: Shown(f"{__name__}.ServerFieldsTests.test_create"),
        44: Stored(change={"metadata.selfLink": "/x"}, expected={"metadata.selfLink": GONE}),
        45: Refused(
            change={"metadata.resourceVersion": "1"},
            code=400,
            detail="resourceVersion should not be set on objects to be created",
        ),
        46: Shown(f"{__name__}.ServerFieldsTests.test_generated_name"),
        47: [
            Stored(change={"metadata.generation": 7}, expected={"metadata.generation": 7}),
            Stored(kind="Deployment", change={"metadata.generation": 7}, expected={"metadata.generation": 1}),
        ],
        48: [
            Stored(change={"metadata.generation": 7}, expected={"metadata.generation": GONE}),
            Stored(kind="Deployment", change={"metadata.generation": 7}, expected={"metadata.generation": 1}),
            Stored(
                kind="Deployment",
                change={"metadata.generation": 7, "spec.replicas": 3},
                expected={"metadata.generation": 2},
            ),
        ],
        49: Refused(
            on="create",
            change={"metadata.finalizers": ["mine"], "metadata.deletionTimestamp": "2024-01-01T00:00:00Z"},
            field="metadata.finalizers[0]",
        ),
        50: Shown(f"{__name__}.ServerFieldsTests.test_all_at_once"),
        51: [
            Asked(method="PUT", query="x", body=changed(MAP, {"metadata.name": "ax"}), code=404, text="not found"),
            Asked(
                method="PATCH",
                query="x?fieldManager=m",
                body={**MAP, "metadata": {"name": "ax"}},
                headers=APPLY,
                code=201,
                text="^",
            ),
        ],
        52: Shown(f"{DELETION}.test_finalizers_hold"),
        53: [
            Shown("tests.validation.test_apiextensions.DefinitionsTests.test_examples"),
            Shown("tests.registry.test_subresources.StatusTests.test_deployment_status_keeps_labels"),
        ],
        54: Asked(method="DELETE", body={"propagationPolicy": "Orphan", "orphanDependents": True}),
        55: Asked(method="DELETE", body={"propagationPolicy": "Sideways"}),
        56: [
            Asked(method="DELETE", body={"dryRun": ["Some"]}),
            Asked(method="DELETE", query="?dryRun=Some"),
            Asked(method="DELETE", body={"dryRun": ["All"]}, code=200, text="^"),
        ],
        57: [
            Asked(method="DELETE", body={"gracePeriodSeconds": -5}, code=200, text="^"),
            Shown(f"{OPTIONS}.DeleteOptionsTests.test_negative_grace"),
        ],
        58: [
            Asked(
                method="DELETE",
                body={"preconditions": {"uid": "x"}},
                code=409,
                text=r"the UID in the precondition \(x\) does not match the UID in record",
            ),
            Shown(f"{DELETION}.test_preconditions"),
        ],
        59: Asked(
            method="DELETE",
            body={"preconditions": {"resourceVersion": "1"}},
            code=409,
            text=r"the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record",
        ),
        60: Shown(f"{GRACE}.test_default"),
        61: Shown(f"{GRACE}.test_now"),
        62: Shown(f"{GRACE}.test_shorter"),
        63: [Shown(f"{GRACE}.test_default"), Shown(f"{DELETION}.test_deletion_counts_as_generation")],
        64: Shown(f"{PROPAGATION}.test_policies"),
        65: Shown(f"{PROPAGATION}.test_policies"),
        66: Shown(f"{KIND_TRAITS}.test_orphans"),
        67: Shown(f"{__name__}.DeletionTests.test_events"),
        68: Shown(f"{__name__}.DeletionTests.test_answers"),
        **options("POST", 69),
        **options("PUT", 73, body=MAP),
        77: Asked(method="PATCH", query="?force=true", body={}, headers=MERGE),
        78: Asked(method="PATCH", body=MAP, headers=APPLY),
        **options("PATCH", 79, body={}, headers=MERGE),
        83: [
            Asked(
                method="GET",
                query="?includeObject=All",
                code=400,
                headers={"accept": "application/json;as=Table;v=v1;g=meta.orch.io"},
            ),
            Shown(f"{OPTIONS}.OtherParametersTests.test_include_object"),
        ],
        84: refused_selector(selected(matchLabels={"a b": "c"}), selected(matchLabels={"x.y/a": "c"}), "matchLabels"),
        85: refused_selector(selected(matchLabels={"a": "b c"}), selected(matchLabels={"a": ""}), "matchLabels"),
        86: refused_selector(selected_by(key="a b"), selected_by(), "matchExpressions[0].key"),
        87: refused_selector(
            selected_by(operator="Gt"), selected_by(operator="DoesNotExist"), "matchExpressions[0].operator"
        ),
        88: [
            refused_selector(
                selected_by(operator=operator),
                selected_by(operator=operator, values=["b"]),
                "matchExpressions[0].values",
            )
            for operator in ("In", "NotIn")
        ],
        89: [
            refused_selector(
                selected_by(operator=operator, values=["b"]),
                selected_by(operator=operator),
                "matchExpressions[0].values",
            )
            for operator in ("Exists", "DoesNotExist")
        ],
        90: Accepted(change=selected_by(operator="In", values=["no label value"])),
        91: refused_condition(observed(), type="a b"),
        92: Refused(
            on="status",
            change={"status.conditions": [CONDITION, CONDITION]},
            accepts={"status.conditions": [CONDITION, {**CONDITION, "type": "Other"}]},
            field="status.conditions[1].type",
        ),
        93: refused_condition(observed(status="Unknown"), status="Perhaps"),
        94: refused_condition(observed(observedGeneration=1), observedGeneration=-1),
        95: refused_condition(observed(), lastTransitionTime=None),
        96: refused_condition(observed(), reason=""),
        97: refused_condition(observed(reason="A1_,:b"), reason="1A"),
        98: refused_condition(observed(reason=long(1024)), reason=long(1025)),
        99: refused_condition(observed(message=long(32768)), message=long(32769)),
        **dict.fromkeys((*range(100, 112), 113, 115, 118, 120, 121), Shown(f"{__name__}.FormatTests.test_formats")),
        112: Refused(
            kind="Deployment",
            change={SURGE: "10"},
            accepts={SURGE: "10%"},
            field=SURGE,
            detail="a valid percent string must be a numeric string followed by an ending '%'",
        ),
        114: [
            Refused(
                kind="Deployment",
                change={f"{POD}.securityContext.{key}": value},
                accepts={f"{POD}.securityContext.{key}": 2147483647},
                field=f"{POD}.securityContext.{key}",
            )
            for key in ("runAsUser", "runAsGroup", "fsGroup")
            for value in (-1, 2147483648)
        ],
        116: Shown("tests.validation.test_discovery.DiscoveryTests.test_examples"),
        117: Shown("tests.validation.test_networking.NetworkingTests.test_examples"),
        119: Shown("tests.rules.test_addresses.AddressTests.test_special"),
        122: [
            Refused(
                kind="Deployment",
                change=mode(value),
                accepts=mode(511),
                field=f"{POD}.volumes[0].configMap.defaultMode",
            )
            for value in (-1, 512)
        ],
        123: [
            Shown(f"{__name__}.NameTests.test_csi_driver"),
            Refused(
                kind="Deployment",
                change=driver("a_b"),
                accepts=driver("A" * 63),
                field=f"{POD}.volumes[0].csi.driver",
            ),
        ],
        124: Refused(
            kind="Node",
            change={"spec.podCIDRs": ["10.0.0.0/33"]},
            accepts={"spec.podCIDRs": ["10.9.8.7/8"]},
            field="spec.podCIDRs[0]",
        ),
        **dict.fromkeys(range(125, 130), Shown(f"{__name__}.NameTests.test_forms")),
        130: Shown("tests.validation.test_apiextensions.DefinitionsTests.test_examples"),
        131: Refused(kind="APIService", change={"metadata.name": "v2.g"}, accepts={"metadata.name": "v1.g"}),
        132: Shown("tests.validation.test_internal_apiserver.InternalApiserverTests.test_examples"),
        133: Shown(f"{__name__}.NameTests.test_cron_job"),
        134: Shown("tests.validation.test_core_rest.CoreRestTests.test_limit_range_without_name"),
        135: Shown(f"{__name__}.NameTests.test_priority_class"),
        136: Accepted(kind="ClusterRole", on="create", change={"metadata.name": "system:mine"}),
        137: Shown(f"{KIND_TRAITS}.test_create_on_update"),
        138: Shown(f"{KIND_TRAITS}.test_create_on_update"),
        139: Accepted(kind="ObjectMeta", change={"metadata.resourceVersion": GONE}),
        140: [
            Refused(kind="Lease", change={"metadata.resourceVersion": GONE}),
            Shown(f"{KIND_TRAITS}.test_version_required"),
        ],
    }


class ServerFieldsTests(ServedCase):
    """What the server writes of metadata, whatever clients send (reference OBJ-3)."""

    def test_create(self) -> None:
        """The identity of a new object is its own: a random UID, and now to the second."""
        sent = {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
        first, second = (
            self.done("POST", MAPS, {**MAP, "metadata": {**sent, "name": name}})["metadata"] for name in "ab"
        )
        self.assertNotEqual(first["uid"], second["uid"])
        self.assertRegex(first["uid"], "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertRegex(first["creationTimestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertNotEqual(first["creationTimestamp"], sent["creationTimestamp"])

    def test_generated_name(self) -> None:
        """58 characters of what is given, and five that spell nothing."""
        made = self.done("POST", MAPS, {**MAP, "metadata": {"generateName": "a" * 70 + "-"}})
        self.assertRegex(made["metadata"]["name"], "^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$")
        self.assertEqual(made["metadata"]["generateName"], "a" * 70 + "-")

    def test_update(self) -> None:
        """Times of creation and deletion stay as they are, without a word."""
        made = self.done("POST", MAPS, MAP)
        sent = changed(
            made,
            {
                "metadata.creationTimestamp": "2001-01-01T00:00:00Z",
                "metadata.deletionTimestamp": "2001-01-01T00:00:00Z",
                "metadata.deletionGracePeriodSeconds": 3,
            },
        )
        meta = self.done("PUT", f"{MAPS}/a", sent)["metadata"]
        self.assertEqual(meta["creationTimestamp"], made["metadata"]["creationTimestamp"])
        self.assertNotIn("deletionTimestamp", meta)
        self.assertNotIn("deletionGracePeriodSeconds", meta)

    def test_all_at_once(self) -> None:
        """The causes of metadata and of the kind come in one answer, in the order of the fields; no warnings come."""
        self.done("POST", MAPS, {**MAP, "immutable": True})
        bad = {**MAP, "immutable": True, "metadata": {"name": "a", "labels": {"a": "b c"}, "clusterName": "x"}}
        answer = self.send("PUT", f"{MAPS}/a", {**bad, "data": {"a b": "c"}})
        fields = [each["field"] for each in answer.json["details"]["causes"]]
        self.assertEqual(fields[0], "metadata.labels")


class OwnerTests(ServedCase):
    def warnings(self, method: str, path: str, body: Object, headers: Any = None) -> str:
        """The warnings of a request, which leaves one owner."""
        answer = self.send(method, path, body, headers)
        self.assertEqual(len(answer.json["metadata"]["ownerReferences"]), 1)
        return answer.headers.get("warning", "")

    def test_after_admission(self) -> None:
        """In patches, and where admission repeats an owner, the warning says so."""
        twice = {"ownerReferences": [OWNER, OWNER]}
        sent = self.warnings("POST", MAPS, {**MAP, "metadata": {**MAP["metadata"], **twice}})
        self.assertIn("contains duplicate entries; ", sent)
        patched = self.warnings("PATCH", f"{MAPS}/a", {"metadata": twice}, MERGE)
        self.assertIn("contains duplicate entries after mutating admission happens; ", patched)

        def repeat(attributes: Attributes) -> None:
            assert attributes.obj is not None
            attributes.obj["metadata"].update(twice)

        self.plugin.mutate = repeat
        for method, path in (("POST", MAPS), ("PUT", f"{MAPS}/b")):
            admitted = self.warnings(method, path, {**MAP, "metadata": {"name": "b"}})
            self.assertIn("after mutating admission happens", admitted)


class DeletionTests(ServedCase):
    def test_events(self) -> None:
        """An event that is deleted is gone, whatever is asked about dependents."""
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
        for options in ({"propagationPolicy": "Orphan"}, {"orphanDependents": True}, None):
            self.done("POST", "events", event)
            self.done("DELETE", "events/e", options)
            self.assertEqual(self.code("GET", "events/e"), 404)

    def test_answers(self) -> None:
        """The kinds whose deletion answers with the object; a namespace is not gone yet (reference DEL-9)."""
        found = {
            each.kind
            for each in Catalogue.load(Naming.orch()).resources
            if each.delete_returns_object and "delete" in each.verbs
        }
        self.assertEqual(found, set(ANSWERED))


ANSWERED = (
    "Pod", "Service", "PersistentVolume", "PersistentVolumeClaim", "ServiceAccount", "ResourceQuota",
    "PodTemplate", "PodSecurityPolicy", "StorageClass", "VolumeAttachment", "CSIDriver", "CSINode",
)  # fmt: skip


class NameTests(ServedCase):
    """Forms of names (reference OBJ-20)."""

    FORMS: dict[int, NameForm] = {
        125: SUBDOMAIN_NAME, 126: LABEL_NAME, 127: LABEL_1035_NAME, 128: PATH_SEGMENT_NAME,
    }  # fmt: skip

    def test_forms(self) -> None:
        """The kinds that the file names have these forms."""
        forms = {kind.kind: kind.name_form for kind in KINDS.values()}
        entries = MetaTests("test_every_entry").entries()
        for number, form in self.FORMS.items():
            kinds = re.findall(r"[A-Z]\w+", re.sub(r" \(v1\)", "", entries[number].fact["when"]))
            for kind in kinds:
                if kind not in ("Scale", "Binding", "CronJob", "CSIDriver"):  # never stored, or shorter
                    self.assertIs(forms.get(kind, GENERIC.name_form), form, kind)

    def test_cron_job(self) -> None:
        """A CronJob leaves room for what its jobs are called."""
        form = next(kind.name_form for kind in KINDS.values() if kind.kind == "CronJob")
        self.assertEqual(form.check("a" * 52), ())
        self.assertEqual(form.check("a" * 53), ("must be no more than 52 characters",))

    def test_priority_class(self) -> None:
        """The names of the system's classes are its own."""
        self.refused(
            "/apis/scheduling.orch.io/v1/priorityclasses",
            {"metadata": {"name": "system-mine"}, "value": 1},
            "priority class names with 'system-' prefix are reserved for system use only",
        )

    def test_csi_driver(self) -> None:
        """The name of a driver is there, and has at most 63 characters."""
        containers = [{"name": "c", "image": "i"}]
        for name, reason in (("", "FieldValueRequired"), (long(64), "FieldValueTooLong")):
            spec = {"containers": containers, "volumes": [{"name": "v", "csi": {"driver": name}}]}
            answer = self.send("POST", f"{NAMESPACED}/pods", {"metadata": {"name": "p"}, "spec": spec})
            causes = {each["field"]: each["reason"] for each in answer.json["details"]["causes"]}
            self.assertEqual(causes["spec.volumes[0].csi.driver"], reason)

    def refused(self, path: str, obj: Object, text: str) -> None:
        """The name of a new object is refused with a text."""
        answer = self.send("POST", path, obj)
        said = {each["field"]: each["message"] for each in answer.json["details"]["causes"]}
        self.assertIn(text, said["metadata.name"])


class FormatTests(SynchronousTestCase):
    """The forms of texts that many kinds share."""

    FORMS: dict[int, tuple[Callable[[Any], tuple[str, ...]], tuple[Any, ...], tuple[Any, ...]]] = {
        100: (names.dns_label, ("a", "1-a", long(63)), ("", "-a", "a-", "A", "a.b", long(64))),
        101: (
            names.dns_subdomain,
            ("a", "a.b-c.1", f"{long(63)}.{long(63)}"),
            ("", "a..b", "a.-b", "A.b", long(254)),
        ),
        102: (names.dns_1035_label, ("a", "a-1"), ("1a", "-a", "a.b", long(64))),
        103: (names.wildcard_subdomain, ("*.a", "*.a-1.b"), ("", "*", "a", "*.*.a", "*a.b", "*.A", f"*.{long(252)}")),
        104: (
            names.qualified_name,
            ("a", "A.b_c-1", "x.y/a", f"x/{long(63)}"),
            ("", "/a", "x/", "x/y/z", "X/a", "a b", f"x/{long(64)}"),
        ),
        105: (names.label_value, ("", "A.b_c-1"), ("-a", "a-", "a b", long(64))),
        106: (names.c_identifier, ("a", "_A1", "__"), ("", "1a", "a-b", "a.b", "a\n", "\xe9")),
        107: (ports.port_number, (1, 65535), (0, -1, 65536, 2**63 - 1)),
        108: (ports.port_name, ("a", "1-a", "a" * 15), ("", "A", "12", "a--b", "-a", "a-", "a_b", "a" * 16)),
        109: (names.environment_variable, ("a", "_A.b-1", ".a"), ("", "1a", ".", "..", "..a", "a b", "a=")),
        110: (names.config_key, ("a", ".a", "A_b-c.d"), (".", "..", "..a", "a b", "", long(254))),
        111: (names.http_header, ("X-Header-Name", "1"), ("", "a_b", "a b", "a:")),
        113: (
            addresses.ip,
            ("10.9.8.7", "010.009.8.7", "2001:db8::ffff", "::"),
            ("", "a", "10.9.8", "10.9.8.256", "10.9.8.7/8"),
        ),
        115: (names.fully_qualified_name, ("a.b.c", "a.b.c.d"), ("", "A.b.c", "a..c", "a.b.", "a.b")),
        118: (
            addresses.socket_address,
            ("10.9.8.7:80", "[2001:db8::1]:65535", "[10.9.8.7]:1"),
            ("", "10.9.8.7", "[::]", "::1:80", "a:80", ":80", "10.9.8.7:", "10.9.8.7:0", "10.9.8.7:a", "[::]:65536"),
        ),
        120: (file_paths.descending_path, ("", "a/b", "..a", "a..b"), ("..", "a/..", "a/../b", "/a")),
        121: (file_paths.file_path, ("", "a/b", "a/..b"), ("..", "a/..", "/a", "..a")),
    }
    """The others are shown with fields that have them."""

    def test_formats(self) -> None:
        """Each accepts what is right, refuses what is not, and says how long is too long."""
        facts = {each.number: each for each in MetaTests("test_every_entry").entries()}
        for number, (check, good, bad) in self.FORMS.items():
            rule = facts[number].fact["path"]
            self.assertEqual([value for value in good if check(value)], [], rule)
            self.assertEqual([value for value in bad if not check(value)], [], rule)
            texts = [text for value in bad for text in check(value)]
            for detail in filter(None, facts[number].details):
                self.assertTrue(any(re.search(detail, text) for text in texts), rule)
