"""Pods and everything that makes pods from a template."""

from __future__ import annotations

from functools import lru_cache

from orchtw.objects import Object
from orchtw.registry.defaults.claims import fill_claim_spec
from orchtw.registry.defaults.places import put
from orchtw.registry.defaults.quantities import round_up

_SPEC_TAIL = (
    *("serviceAccountName", "serviceAccount", "automountServiceAccountToken", "nodeName", "hostNetwork", "hostPID"),
    *("hostIPC", "shareProcessNamespace", "securityContext", "imagePullSecrets", "hostname", "subdomain", "affinity"),
    *("schedulerName", "tolerations", "hostAliases", "priorityClassName", "priority", "dnsConfig", "readinessGates"),
    *("runtimeClassName", "enableServiceLinks", "preemptionPolicy", "overhead", "topologySpreadConstraints"),
    *("setHostnameAsFQDN", "os"),
)
_SERVICE_LINKS_TAIL = _SPEC_TAIL[_SPEC_TAIL.index("enableServiceLinks") :]
_CONTAINER_TAIL = ("imagePullPolicy", "securityContext", "stdin", "stdinOnce", "tty", "targetContainerName")
_PORT_TAIL = ("hostPort", "containerPort", "protocol", "hostIP")
_LONGEST_KEPT = 512  # characters of an image: a client's longer ones are not worth the memory
_RUNNING = ("containers", "initContainers")


def fill_pod(pod: Object) -> None:
    """A pod: what templates have too, and what only a pod gets (facts, note "templates")."""
    spec = pod["spec"]
    fill_pod_spec(spec)
    if "enableServiceLinks" not in spec:
        put(spec, "enableServiceLinks", True, _SERVICE_LINKS_TAIL)
    for key in _RUNNING:
        for container in spec.get(key) or ():
            _request_limits(container["resources"])


def fill_pod_template(holder: Object) -> None:
    """The pod template in `holder["template"]`, if there is one."""
    template = holder.get("template")
    if template:
        fill_pod_spec(template["spec"])


def fill_pod_spec(spec: Object) -> None:
    """Fragment PodSpec."""
    if "serviceAccountName" in spec or "serviceAccount" in spec:
        _name_account_twice(spec)
    for container in spec.get("containers") or ():
        fill_container(container)
    for key in ("initContainers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            fill_container(container)
    if spec.get("hostNetwork"):
        for key in _RUNNING:
            for container in spec.get(key) or ():
                _open_host_ports(container)
    for volume in spec.get("volumes") or ():
        fill_volume(volume)
    if "overhead" in spec:
        round_up(spec, "overhead")


def fill_container(container: Object) -> None:
    """Fragment Container."""
    if "imagePullPolicy" not in container:
        put(container, "imagePullPolicy", pull_policy(container.get("image", "")), _CONTAINER_TAIL)
    if resources := container["resources"]:
        round_up(resources, "limits", "requests")


def pull_policy(image: str) -> str:
    """When to pull an image that says nothing of it; no image at all (templates may leave it out) is no `latest`."""
    return _kept_policy(image) if len(image) <= _LONGEST_KEPT else _policy(image)


@lru_cache(maxsize=8192)  # images are few, containers many
def _kept_policy(image: str) -> str:
    return _policy(image)


def _policy(image: str) -> str:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    latest = tag == "latest" or not (tag or digest)
    return "Always" if latest and image else "IfNotPresent"


def fill_volume(volume: Object) -> None:
    """Fragment Volume: a name alone is an empty directory; claims of ephemeral volumes."""
    if len(volume) == 1:
        volume["emptyDir"] = {}
    elif template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        fill_claim_spec(template["spec"])


def _name_account_twice(spec: Object) -> None:
    """serviceAccount is the old name of serviceAccountName; both show the same, and the new one wins."""
    name = spec.get("serviceAccountName") or spec["serviceAccount"]
    if spec.get("serviceAccount") == name == spec.get("serviceAccountName"):
        return
    put(spec, "serviceAccountName", name, _SPEC_TAIL)
    put(spec, "serviceAccount", name, _SPEC_TAIL)


def _open_host_ports(container: Object) -> None:
    for port in container.get("ports") or ():
        if "hostPort" not in port and port["containerPort"]:
            put(port, "hostPort", port["containerPort"], _PORT_TAIL)


def _request_limits(resources: Object) -> None:
    """What is limited and not requested is requested in the same amount."""
    limits = resources.get("limits")
    if limits:
        requests = resources.get("requests") or {}
        if not limits.keys() <= requests.keys():
            resources["requests"] = dict(sorted({**limits, **requests}.items()))
