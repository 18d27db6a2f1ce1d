"""Publisher of authorities: a ConfigMap in each namespace with those of this server (reference CTRL-24)."""

from __future__ import annotations

from typing import Final

from orchtw.controllers.controller import ControllerHost
from orchtw.controllers.service_accounts.each_namespace import EachNamespace
from orchtw.wire.objects import Object

KEY: Final = "ca.crt"


class RootCAPublisher(EachNamespace):
    """Publisher that removes foreign data from the ConfigMap; labels and annotations stay."""

    name = "root-ca-cert-publisher"
    account = "root-ca-cert-publisher"

    def __init__(self, host: ControllerHost, root_ca_pem: str) -> None:
        naming = host.naming
        self._name = naming.root_ca_config_map
        self._data = {KEY: root_ca_pem}
        self._description = f"{naming.label_domain}/description"
        self._text = (
            f"Contains a CA bundle that can be used to verify the {naming.api_server} when using internal endpoints "
            f"such as the internal service IP or {naming.service_host}. No other usage is guaranteed."
        )
        super().__init__(host, "configmaps", self._name)

    def wanted(self, namespace: str) -> Object:
        """Return the ConfigMap of the root authority."""
        meta = {"name": self._name, "namespace": namespace, "annotations": {self._description: self._text}}
        return {"metadata": meta, "data": dict(self._data)}

    def corrected(self, obj: Object) -> Object | None:
        """Return the corrected ConfigMap, or None."""
        annotations = obj["metadata"].get("annotations") or {}
        if obj.get("data") == self._data and not obj.get("binaryData") and annotations.get(self._description):
            return None
        meta = {**obj["metadata"], "annotations": {**annotations, self._description: self._text}}
        return {**obj, "metadata": meta, "data": dict(self._data), "binaryData": {}}
