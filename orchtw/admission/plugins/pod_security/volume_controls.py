"""Controls of volume types."""

from __future__ import annotations

from typing import Final

from orchtw.admission.plugins.pod_security.subject import Subject
from orchtw.admission.plugins.pod_security.violations import Violation, plural, quoted
from orchtw.wire.objects import Object

_PLAIN: Final = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
)


def volume_types(pod: Subject) -> Violation | None:
    """Forbid types of volumes that the restricted level does not list."""
    bad, kinds = [], set()
    for volume in pod.spec.get("volumes") or ():
        if _PLAIN.isdisjoint(volume):
            bad.append(volume["name"])
            kinds.add(_kind(volume))
    if not bad:
        return None
    volumes = f"{plural('volume', 'volumes', len(bad))} {quoted(bad)} {plural('uses', 'use', len(bad))}"
    types = f"{plural('type', 'types', len(kinds))} {quoted(sorted(kinds))}"
    return Violation("restricted volume types", f"{volumes} restricted volume {types}")


def _kind(volume: Object) -> str:
    return next((key for key in volume if key != "name"), "unknown")
