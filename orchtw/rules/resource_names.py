"""Names of compute and quota resources: `cpu`, `requests.storage`, `hugepages-2Mi`, `example.com/gpu`.

Validation functions return error texts, an empty tuple for a valid name. Anyone may define a name with a domain.
"""

from __future__ import annotations

from typing import Final

from orchtw.naming.naming import Naming
from orchtw.values.names import qualified_name

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_OBJECTS: Final = (
    *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
    *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
)
_QUOTA: Final = frozenset(
    (
        *(*_COMPUTE, *_OBJECTS, "requests.storage"),
        *(f"requests.{name}" for name in _COMPUTE),
        *(f"limits.{name}" for name in _COMPUTE),
    )
)
_STANDARD: Final = _QUOTA | {"storage"}
_CONTAINER: Final = frozenset(_COMPUTE)
_COUNTS: Final = frozenset(_OBJECTS)
_HUGE_PAGES: Final = "hugepages-"
_REQUESTS: Final = "requests."


def is_huge_pages(name: str) -> bool:
    """Report whether a resource is huge-page memory."""
    return name.startswith(_HUGE_PAGES)


def is_quota_resource(name: str) -> bool:
    """Report whether a name without a domain is one that quotas can limit."""
    return name in _QUOTA or name.startswith((_HUGE_PAGES, _REQUESTS + _HUGE_PAGES))


def is_native(name: str, naming: Naming) -> bool:
    """Report whether a resource is native: without a domain, or under the label domain."""
    return "/" not in name or f"{naming.label_domain}/" in name


def is_extended(name: str, naming: Naming) -> bool:
    """Report whether a resource is an extended resource, such as a device."""
    if is_native(name, naming) or name.startswith(_REQUESTS):
        return False
    return not qualified_name(_REQUESTS + name)


def is_counted(name: str, naming: Naming) -> bool:
    """Report whether amounts of a resource must be integers."""
    return name in _COUNTS or is_extended(name, naming)


def may_overcommit(name: str, naming: Naming) -> bool:
    """Report whether limits of a resource may exceed requests."""
    return is_native(name, naming) and not is_huge_pages(name)


def resource_name(name: str) -> tuple[str, ...]:
    """Return the reasons why `name` is not a resource name."""
    texts = qualified_name(name)
    if not texts and "/" not in name and name not in _STANDARD and not is_quota_resource(name):
        return ("must be a standard resource type or fully qualified",)
    return texts


def container_resource_name(name: str, naming: Naming) -> tuple[str, ...]:
    """Return the reasons why `name` is not a resource of a container."""
    if name in _CONTAINER:
        return ()
    texts = resource_name(name)
    if "/" not in name:
        return texts if is_huge_pages(name) else (*texts, "must be a standard resource for containers")
    if not is_native(name, naming) and not is_extended(name, naming):
        return (*texts, "doesn't follow extended resource name standard")
    return texts


def quota_resource_name(name: str) -> tuple[str, ...]:
    """Return the reasons why `name` is not a resource of a quota."""
    if name in _QUOTA:
        return ()
    texts = resource_name(name)
    return texts if "/" in name or is_quota_resource(name) else (*texts, "must be a standard resource for quota")
