"""PodIdentity of a StatefulSet's pods: number, name, labels, host name, and the claims that they mount."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from orchtw.naming.naming import Naming
from orchtw.simulation.workloads.hashes import REVISION_HASH
from orchtw.wire.objects import Object

POD_NAME: Final = "statefulset.orch.io/pod-name"
POD_INDEX: Final = "apps.orch.io/pod-index"
INDEX_GATE: Final = "PodIndexLabel"


def ordinal_of(set_name: str, pod_name: str) -> int | None:
    """Return the number of a StatefulSet's pod; None: the name is not one of that StatefulSet."""
    parent, _, digits = pod_name.rpartition("-")
    if parent != set_name or not (digits.isascii() and digits.isdigit()) or len(digits) > 10:
        return None
    return int(digits)


def start_of(owner: Object) -> int:
    """Return the number of the first pod."""
    return (owner["spec"].get("ordinals") or {}).get("start") or 0


def pod_name(owner: Object, ordinal: int) -> str:
    """Return the name of a pod."""
    return f"{owner['metadata']['name']}-{ordinal}"


def claim_templates(owner: Object) -> Sequence[Object]:
    """Return the templates of the pods' claims."""
    found: Sequence[Object] = owner["spec"].get("volumeClaimTemplates") or ()
    return found


def claim_name(owner: Object, template: Object, ordinal: int) -> str:
    """Return the name of a pod's claim."""
    return f"{template['metadata']['name']}-{pod_name(owner, ordinal)}"


class PodIdentity:
    """Makes pods under the names of one vocabulary; `indexed`: they have a label with their number."""

    def __init__(self, naming: Naming, *, indexed: bool) -> None:
        self._name_label = naming.translate(POD_NAME)
        self._index_label = naming.translate(POD_INDEX) if indexed else ""

    def labels(self, owner: Object, ordinal: int) -> dict[str, str]:
        """Return the labels that say which of the pods one is."""
        labels = {self._name_label: pod_name(owner, ordinal)}
        return {**labels, self._index_label: str(ordinal)} if self._index_label else labels

    def pod(self, owner: Object, reference: Object, template: Object, revision: str, ordinal: int) -> Object:
        """Return a new pod of a template, which is that of the named revision; it shares nothing with others."""
        copied: Object = orjson.loads(orjson.dumps(template))
        meta, name = copied.get("metadata") or {}, pod_name(owner, ordinal)
        kept = {key: meta[key] for key in ("annotations", "finalizers") if meta.get(key)}
        labels = {**(meta.get("labels") or {}), **self.labels(owner, ordinal), REVISION_HASH: revision}
        spec = {**copied["spec"], "hostname": name, "subdomain": owner["spec"].get("serviceName") or ""}
        spec["volumes"] = _volumes(owner, ordinal, copied["spec"].get("volumes") or ())
        return {
            "metadata": {
                "name": name,
                "namespace": owner["metadata"]["namespace"],
                "labels": labels,
                "ownerReferences": [reference],
                **kept,
            },
            "spec": spec,
        }


def _volumes(owner: Object, ordinal: int, others: Sequence[Object]) -> list[Object]:
    """Return the volumes of the claims, which replace those of the template that have the same name."""
    claims = {
        template["metadata"]["name"]: {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name(owner, template, ordinal), "readOnly": False},
        }
        for template in claim_templates(owner)
    }
    return [*claims.values(), *(each for each in others if each["name"] not in claims)]
