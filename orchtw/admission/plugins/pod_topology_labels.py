"""PodTopologyLabels: pods get the zone and region of their node as labels (reference PLUG-111)."""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes, Operation
from orchtw.admission.host import AdmissionHost
from orchtw.registry.emission_order import put
from orchtw.registry.listers.lister import Lister
from orchtw.registry.listers.nodes import NodeState, nodes
from orchtw.schema.catalogue import ResourceType

_KEYS: Final = ("topology.orch.io/region", "topology.orch.io/zone")
_FROM_LABELS_ON: Final = ("labels", "annotations", "ownerReferences", "finalizers", "managedFields")


class PodTopologyLabels:
    """Plugin PodTopologyLabels; `keys` are the labels of nodes that are copied. It does nothing unless it is `on`."""

    def __init__(self, known: Lister[NodeState], keys: tuple[str, ...], *, on: bool = True) -> None:
        self._nodes = known
        self._keys = keys
        self._on = on

    @classmethod
    def of(cls, host: AdmissionHost) -> PodTopologyLabels:
        """Return the plugin for the server's nodes, under its gate."""
        keys = tuple(map(host.naming.translate, _KEYS))
        return cls(nodes(host.targets), keys, on=host.gates["PodTopologyLabelsAdmission"])

    def handles(self, operation: Operation, resource: ResourceType, subresource: str) -> bool:
        """Handle creates of Pods, and of their bindings by way of the pod."""
        ours = self._on and operation == "CREATE" and resource.qualified == "pods"
        return ours and subresource in ("", "binding")

    async def admit(self, attributes: Attributes) -> None:
        """Give a pod, or its Binding, the labels of its node, in place of those of these names."""
        obj = attributes.obj or {}
        if attributes.subresource:
            target = obj.get("target") or {}
            name = target.get("name") if target.get("kind", "Node") == "Node" else ""
        else:
            name = (obj.get("spec") or {}).get("nodeName")
        node = self._nodes.get("", name) if name else None
        meta = obj.get("metadata") or {}
        present = meta.get("labels") or {}
        added = {key: node.labels[key] for key in self._keys if key in node.labels} if node is not None else {}
        if added.items() <= present.items():
            return
        meta = dict(meta)
        put(meta, "labels", dict(sorted({**present, **added}.items())), _FROM_LABELS_ON)
        attributes.fill({**obj, "metadata": meta})
