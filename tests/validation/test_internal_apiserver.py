"""Versions in which servers store (reference KIND-34)."""
# covers: orchtw.registry.groups.apiserverinternal

from __future__ import annotations

from tests.validation import case
from tests.validation.examples import Accepted, Base, Refused, Stored

V1 = "internal.apiserver.orch.io/v1alpha1"
VERSIONS = f"/apis/{V1}/storageversions"
VERSION = {
    "apiVersion": V1,
    "kind": "StorageVersion",
    "metadata": {"name": "apps.deployments"},
    "spec": {},
    "status": {},
}
SERVER = {"apiServerID": "a", "encodingVersion": "apps/v1", "decodableVersions": ["apps/v1"]}
CONDITION = {"type": "AllEncodingVersionsEqual", "status": "True", "reason": "R", "message": "m"}
GOOD = {"status.storageVersions": [SERVER], "status.commonEncodingVersion": "apps/v1"}
S = "status.storageVersions[0]"


class InternalApiserverTests(case.EntryCase):
    file = "internal.apiserver.json"
    more = {"runtime_config": (("api/all", "true"),)}
    bases = {"StorageVersion": Base(path=VERSIONS, obj=VERSION)}
    examples = {
        0: (
            Refused(change={"metadata.name": "deployments"}, accepts={"metadata.name": "example.com.things"}),
            Refused(change={"metadata.name": "apps.1"}, detail="the resource segment a DNS-1035 label"),
            Refused(change={"metadata.name": "A.things"}, detail="the group segment a lowercase RFC 1123 subdomain"),
        ),
        1: (
            Refused(change={**GOOD, f"{S}.apiServerID": "A"}, accepts=GOOD),
            Refused(change={**GOOD, f"{S}.apiServerID": ""}),
        ),
        2: (
            Refused(change={**GOOD, f"{S}.encodingVersion": "/v1"}, detail="group part: must be non-empty"),
            Refused(change={**GOOD, f"{S}.encodingVersion": "a/b/v1"}, detail="an apiVersion is a DNS-1035 label"),
        ),
        3: Refused(
            change={**GOOD, f"{S}.decodableVersions[1]": "apps/1"},
            field=f"{S}.decodableVersions[1]",
            detail="version part: a DNS-1035 label",
        ),
        4: Refused(
            change={**GOOD, f"{S}.decodableVersions": ["apps/v2"]}, detail="must include encodingVersion apps/v1"
        ),
        5: (
            Refused(change={"status.storageVersions": [SERVER]}, detail="the common encoding version is apps/v1"),
            Refused(
                change={**GOOD, "status.commonEncodingVersion": "v2"}, detail="the actual common encoding version"
            ),
            Refused(change={"status.commonEncodingVersion": "v2"}, detail="should be nil if servers do not agree"),
        ),
        6: (
            Refused(change={"status.conditions": [{**CONDITION, "type": "a b"}]}, field="status[0].type"),
            Refused(
                change={"status.conditions": [CONDITION, CONDITION]},
                accepts={"status.conditions": [CONDITION]},
                field="status[1].type",
                detail=r"it also appears in conditions\[0\]",
            ),
        ),
        7: (
            Refused(change={"status.conditions": [{**CONDITION, "reason": ""}]}, field="status[0].reason"),
            Refused(change={"status.conditions": [{**CONDITION, "message": ""}]}, field="status[0].message"),
        ),
        8: Accepted(change={"metadata.labels": {"a": "b"}}),
        9: Stored(change=GOOD, expected={"status": {}}),
        10: Stored(change=GOOD, expected={"status": {}}),
    }
