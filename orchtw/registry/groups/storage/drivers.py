"""CSI drivers and their settings."""

from __future__ import annotations

from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.kind import KindRecord
from orchtw.registry.strategy import Strategy
from orchtw.request import UserInfo
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.problems import IMMUTABLE
from orchtw.values.causes import duplicate, invalid, not_supported, required
from orchtw.values.go_literals import listed, shown
from orchtw.values.names import SUBDOMAIN_NAME
from orchtw.wire.objects import Object

_SHOWN_MODES = listed("storage.VolumeLifecycleMode")

_ATTACH: Final = "spec.attachedRequired"  # as the release spells the field in causes
_MODES: Final = ("Ephemeral", "Persistent")
_LEAST_S: Final = 600
_MOST_S: Final = 1 << 32


class DriverStrategy(Strategy):
    """Write rules of drivers: a new one has no generation; the first change that counts gives it one."""

    def prepare_for_create(self, obj: Object, user: UserInfo) -> None:
        super().prepare_for_create(obj, user)
        del obj["metadata"]["generation"]

    def keep_metadata(self, new: Object, old: Object) -> None:
        super().keep_metadata(new, old)
        if "generation" not in old["metadata"] and self.traits.changed(new, old):
            new["metadata"]["generation"] = 1


def validate_driver(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate a CSIDriver; an update may change token requests, but little else."""
    spec = new["spec"]
    causes = [] if spec.get("attachRequired") is not None else [required(_ATTACH)]
    modes = spec.get("volumeLifecycleModes") or []
    unknown = [mode for mode in modes if mode not in _MODES][:MAX_CAUSES]
    causes += [not_supported("spec.volumeLifecycleModes", mode, _MODES) for mode in unknown]
    if old is not None:
        before = old["spec"]
        if spec.get("attachRequired") != before.get("attachRequired"):
            causes.append(invalid(_ATTACH, spec.get("attachRequired"), IMMUTABLE))
        if modes != (before.get("volumeLifecycleModes") or []):
            causes.append(invalid("spec.volumeLifecycleModes", shown(_SHOWN_MODES, modes), IMMUTABLE))
    if spec.get("serviceAccountTokenInSecrets") is not None and not spec.get("tokenRequests"):
        text = "must be unset when tokenRequests is empty"
        causes.append(invalid("spec.serviceAccountTokenInSecrets", spec["serviceAccountTokenInSecrets"], text))
    return causes + _token_causes(spec)


def _token_causes(spec: Object) -> list[Cause]:
    """Return the causes for audiences with more than one token."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, asked in enumerate(spec.get("tokenRequests") or ()):
        if len(causes) > MAX_CAUSES:
            break
        path = f"spec.tokenRequests[{index}]"
        audience, seconds = asked.get("audience", ""), asked.get("expirationSeconds")
        if audience in seen:
            causes.append(duplicate(f"{path}.audience", audience))
            continue
        seen.add(audience)
        if seconds is not None and not _LEAST_S <= seconds <= _MOST_S:
            why = "less than 10 minutes" if seconds < _LEAST_S else "larger than 2^32 seconds"
            causes.append(invalid(f"{path}.expirationSeconds", seconds, f"may not specify a duration {why}"))
    return causes


CSI_DRIVER = KindRecord(
    group="storage.orch.io",
    kind="CSIDriver",
    strategy=DriverStrategy,
    generation=(("spec", "tokenRequests"), ("spec", "requiresRepublish"), ("spec", "storageCapacity")),
    unconditional_update=False,
    name_form=SUBDOMAIN_NAME.shorter(63),
    validate=validate_driver,
    cells=cells_cluster.csi_driver,
)
