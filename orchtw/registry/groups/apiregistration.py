"""Kinds of the aggregator's group: APIServices (reference AGG-1)."""

from __future__ import annotations

from base64 import b64decode

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_cluster
from orchtw.values.causes import invalid, required
from orchtw.values.names import PATH_SEGMENT_NAME, dns_1035_label, path_segment
from orchtw.wire.objects import Object

_LOCAL = "local APIServices may not have"


class ApiServiceStrategy(Strategy):
    """Strategy of APIServices: those of this server are available from the beginning."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        if obj["spec"].get("service") is None:
            available = {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": obj["metadata"].get("creationTimestamp"),
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
            obj["status"] = {"conditions": [available]}


def validate_api_service(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate that the name is version and group; certificate fields are only for APIs of other servers."""
    spec, name = new["spec"], new["metadata"].get("name", "")
    group, version = spec.get("group", ""), spec.get("version", "")
    causes = []
    if name != f"{version}.{group}" and not path_segment(name):
        text = f'must be `spec.version+"."+spec.group`: "{version}.{group}"'
        causes.append(invalid("metadata.name", name, text))
    if not group and version != "v1":
        legacy = naming.component_prefix.rstrip("-")
        causes.append(required("spec.group", f"only v1 may have an empty group and it better be legacy {legacy}"))
    causes += [invalid("spec.version", version, text) for text in dns_1035_label(version)]
    bundle, insecure = spec.get("caBundle"), spec.get("insecureSkipTLSVerify", False)
    if spec.get("service") is not None:
        if insecure and bundle:
            text = "may not be true if caBundle is present"
            causes.append(invalid("spec.insecureSkipTLSVerify", insecure, text))
        return causes
    if bundle:
        causes.append(invalid("spec.caBundle", f"{len(b64decode(bundle))} bytes", f"{_LOCAL} a caBundle"))
    if insecure:
        causes.append(invalid("spec.insecureSkipTLSVerify", insecure, f"{_LOCAL} insecureSkipTLSVerify"))
    return causes


API_SERVICE = KindRecord(
    group="apiregistration.orch.io",
    kind="APIService",
    strategy=ApiServiceStrategy,
    unconditional_update=False,
    status_ignores=("spec", "metadata"),
    name_form=PATH_SEGMENT_NAME,
    free_finalizers=True,
    validate=validate_api_service,
    cells=cells_cluster.api_service,
)

KINDS = (API_SERVICE,)
