"""Defaults of pod specs, wherever they stand, and the record of PodTemplate."""

from __future__ import annotations

from functools import lru_cache

from orchtw.registry.amounts import round_up
from orchtw.registry.emission_order import put
from orchtw.registry.groups.core.pod_warnings import warn_of_template
from orchtw.registry.groups.core.volumes import set_claim_spec_defaults
from orchtw.registry.kind import KindRecord
from orchtw.schema.tables import cells_workloads
from orchtw.values.images import image_tag
from orchtw.wire.objects import Object

POD_SPEC_TAIL = (
    *("serviceAccountName", "serviceAccount", "automountServiceAccountToken", "nodeName", "hostNetwork", "hostPID"),
    *("hostIPC", "shareProcessNamespace", "securityContext", "imagePullSecrets", "hostname", "subdomain", "affinity"),
    *("schedulerName", "tolerations", "hostAliases", "priorityClassName", "priority", "dnsConfig", "readinessGates"),
    *("runtimeClassName", "enableServiceLinks", "preemptionPolicy", "overhead", "topologySpreadConstraints"),
    *("setHostnameAsFQDN", "os", "hostUsers", "schedulingGates", "resourceClaims", "resources", "hostnameOverride"),
    "schedulingGroup",
)
"""Keys of a pod spec in emission order, from the first one with a default."""
_CONTAINER_TAIL = ("imagePullPolicy", "securityContext", "stdin", "stdinOnce", "tty", "targetContainerName")
_PORT_TAIL = ("hostPort", "containerPort", "protocol", "hostIP")
_LONGEST_KEPT = 512  # characters of an image: a client's longer ones are not worth the memory
RUNNING = ("containers", "initContainers")
"""Lists of containers that start with the pod."""


def set_pod_template_defaults(holder: Object) -> None:
    """Fill in the defaults of `holder["template"]`, if there is one."""
    template = holder.get("template")
    if template:
        set_pod_spec_defaults(template["spec"])


def set_pod_spec_defaults(spec: Object) -> None:
    """Fill in the defaults of a PodSpec."""
    if "serviceAccountName" in spec or "serviceAccount" in spec:
        _name_account_twice(spec)
    for container in spec.get("containers") or ():
        set_container_defaults(container)
    for key in ("initContainers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            set_container_defaults(container)
    if spec.get("hostNetwork"):
        for key in RUNNING:
            for container in spec.get(key) or ():
                _open_host_ports(container)
    for volume in spec.get("volumes") or ():
        set_volume_defaults(volume)
    if "overhead" in spec:
        round_up(spec, "overhead")


def set_container_defaults(container: Object) -> None:
    """Fill in the defaults of a Container."""
    if "imagePullPolicy" not in container:
        put(container, "imagePullPolicy", pull_policy(container.get("image", "")), _CONTAINER_TAIL)
    if resources := container["resources"]:
        round_up(resources, "limits", "requests")


def pull_policy(image: str) -> str:
    """Return the default pull policy: Always for tag `latest`, else IfNotPresent, as for invalid references."""
    return _kept_policy(image) if len(image) <= _LONGEST_KEPT else _policy(image)


@lru_cache(maxsize=8192)  # images are few, containers many
def _kept_policy(image: str) -> str:
    return _policy(image)


def _policy(image: str) -> str:
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def set_volume_defaults(volume: Object) -> None:
    """Fill in a volume: a name alone is an empty directory; claims of ephemeral volumes and images get defaults."""
    if len(volume) == 1:
        volume["emptyDir"] = {}
    elif (image := volume.get("image")) is not None:
        if not image.get("pullPolicy"):
            image["pullPolicy"] = pull_policy(image.get("reference", ""))
    elif template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        set_claim_spec_defaults(template["spec"])


def _name_account_twice(spec: Object) -> None:
    """Set serviceAccount, the old name, and serviceAccountName to the same value; the new one wins."""
    name = spec.get("serviceAccountName") or spec["serviceAccount"]
    if spec.get("serviceAccount") == name == spec.get("serviceAccountName"):
        return
    put(spec, "serviceAccountName", name, POD_SPEC_TAIL)
    put(spec, "serviceAccount", name, POD_SPEC_TAIL)


def _open_host_ports(container: Object) -> None:
    for port in container.get("ports") or ():
        if "hostPort" not in port and port["containerPort"]:
            put(port, "hostPort", port["containerPort"], _PORT_TAIL)


POD_TEMPLATE = KindRecord(
    group="",
    kind="PodTemplate",
    generation=(("template",),),
    set_defaults=set_pod_template_defaults,
    warn=warn_of_template,
    cells=cells_workloads.pod_template,
)
