"""Rules of every kind: metadata, options, selectors, conditions, formats, names (reference OBJ-1)."""

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import (
    GONE,
    Accepted,
    Base,
    Refused,
    Shown,
    Stored,
    Warned,
)
from tests.validation.meta import (
    CONDITION,
    MAP,
    MAPS,
    OWNER,
    POD,
    POLICIES,
    POLICY,
    SURGE,
    Asked,
    driver,
    long,
    managed,
    mode,
    observed,
    options,
    owned,
    refused_condition,
    refused_selector,
    selected,
    selected_by,
)
from tests.validation.paths import changed
from tests.verbs.served import APPLY, MERGE

DELETION = "tests.end_to_end.test_deletion.DeleteTests"
GRACE = "tests.writes.test_delete.GraceTests"
PROPAGATION = "tests.writes.test_delete.PropagationTests"
KIND_TRAITS = "tests.registry.test_kinds.TraitsTests"
NAMES = "tests.validation.test_names"


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
            Shown("tests.schema.validation.test_metadata.UpdateTests.test_old_names_live_on"),
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
        7: Shown("tests.schema.validation.test_metadata.CreateTests.test_namespace"),
        8: [
            Shown("tests.schema.validation.test_metadata.CreateTests.test_namespace"),
            Stored(kind="ClusterRole", change={"metadata.namespace": "x"}, expected={"metadata.namespace": GONE}),
        ],
        9: Refused(change={"metadata.generation": -1}, accepts={"metadata.generation": 0}),
        10: Refused(change={"metadata.labels": {"a b": "c"}}, accepts={"metadata.labels": {"x.y/a": "c"}}),
        11: Refused(change={"metadata.labels.a": "b c"}, accepts={"metadata.labels.a": ""}),
        12: Refused(change={"metadata.annotations": {"a b": ""}}, accepts={"metadata.annotations": {"X.Y/a": "b c"}}),
        13: Shown("tests.schema.validation.test_metadata.CreateTests.test_annotations"),
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
            Shown(f"{NAMES}.OwnerTests.test_after_admission"),
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
            Shown("tests.values.test_field_managers.EntryTests.test_unknown"),
            Stored(
                on="update",
                change=managed(operation="Delete"),
                expected={"metadata.managedFields[0].operation": "Update"},
            ),
        ],
        26: Shown("tests.values.test_field_managers.EntryTests.test_unknown"),
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
        33: Shown("tests.schema.validation.test_metadata.UpdateTests.test_generation"),
        34: [
            Shown("tests.schema.validation.test_metadata.UpdateTests.test_immutable"),
            Refused(change={"metadata.name": "other"}, code=400, detail="does not match the name on the URL"),
        ],
        35: [
            Shown("tests.schema.validation.test_metadata.UpdateTests.test_immutable"),
            Accepted(kind="ClusterRole", change={"metadata.namespace": "other"}),
            Refused(change={"metadata.namespace": "other"}, code=400, detail="does not match the namespace"),
        ],
        36: [
            Refused(
                change={"metadata.uid": "other"}, code=409, detail="Precondition failed: UID in precondition: other"
            ),
            Shown("tests.schema.validation.test_metadata.UpdateTests.test_immutable"),
        ],
        37: Shown(f"{NAMES}.ServerFieldsTests.test_update"),
        38: [
            Refused(change={"metadata.deletionTimestamp": "2024-01-01T00:00:00Z"}),
            Shown(f"{NAMES}.ServerFieldsTests.test_deletion_of_a_terminating_object"),
        ],
        39: [
            Refused(change={"metadata.deletionGracePeriodSeconds": 3}),
            Shown(f"{NAMES}.ServerFieldsTests.test_deletion_of_a_terminating_object"),
        ],
        40: Stored(
            change={"metadata.deletionTimestamp": "2024-01-01T00:00:00Z"},
            expected={"metadata.deletionTimestamp": GONE},
        ),
        41: Stored(
            change={"metadata.deletionGracePeriodSeconds": 3}, expected={"metadata.deletionGracePeriodSeconds": GONE}
        ),
        42: Shown(f"{NAMES}.ServerFieldsTests.test_create"),
        43: Shown(f"{NAMES}.ServerFieldsTests.test_create"),
        44: Stored(change={"metadata.selfLink": "/x"}, expected={"metadata.selfLink": GONE}),
        45: Refused(
            change={"metadata.resourceVersion": "1"},
            code=400,
            detail="resourceVersion should not be set on objects to be created",
        ),
        46: Shown(f"{NAMES}.ServerFieldsTests.test_generated_name"),
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
        50: Shown(f"{NAMES}.ServerFieldsTests.test_all_at_once"),
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
            Shown("tests.rules.test_delete_options.DeleteOptionsTests.test_negative_grace"),
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
        67: Shown(f"{NAMES}.DeletionTests.test_events"),
        68: Shown(f"{NAMES}.DeletionTests.test_answers"),
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
            Shown("tests.rules.test_options.OtherParametersTests.test_include_object"),
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
        **dict.fromkeys((*range(100, 112), 113, 115, 118, 120, 121), Shown(f"{NAMES}.FormatTests.test_formats")),
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
        119: Shown("tests.values.test_addresses.AddressTests.test_special"),
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
            Shown(f"{NAMES}.NameTests.test_csi_driver"),
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
        **dict.fromkeys(range(125, 130), Shown(f"{NAMES}.NameTests.test_forms")),
        130: Shown("tests.validation.test_apiextensions.DefinitionsTests.test_examples"),
        131: Refused(kind="APIService", change={"metadata.name": "v2.g"}, accepts={"metadata.name": "v1.g"}),
        132: Shown("tests.validation.test_internal_apiserver.InternalApiserverTests.test_examples"),
        133: Shown(f"{NAMES}.NameTests.test_cron_job"),
        134: Shown("tests.validation.test_core_rest.CoreRestTests.test_limit_range_without_name"),
        135: Shown(f"{NAMES}.NameTests.test_priority_class"),
        136: Accepted(kind="ClusterRole", on="create", change={"metadata.name": "system:mine"}),
        137: Shown(f"{KIND_TRAITS}.test_create_on_update"),
        138: Shown(f"{KIND_TRAITS}.test_create_on_update"),
        139: Accepted(kind="ObjectMeta", change={"metadata.resourceVersion": GONE}),
        140: [
            Refused(kind="Lease", change={"metadata.resourceVersion": GONE}),
            Shown(f"{KIND_TRAITS}.test_version_required"),
        ],
    }
