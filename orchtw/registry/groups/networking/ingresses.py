"""Ingresses: routing of outside requests to services (reference KIND-29, KIND-34)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.networking.references import check_reference
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.rules.load_balancers import load_balancer_causes
from orchtw.schema.tables import cells_cluster
from orchtw.values.addresses import NOT_AN_IP, parse_ip
from orchtw.values.causes import invalid, not_supported, required
from orchtw.values.file_paths import absolute_path
from orchtw.values.names import dns_1035_label, dns_subdomain, wildcard_subdomain
from orchtw.values.ports import port_name, port_number
from orchtw.wire.objects import Object

CLASS_ANNOTATION: Final = "orch.io/ingress.class"

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_ENDS: Final = ("/..", "/.")


def validate_ingress(new: Object, old: Object | None, naming: Naming) -> list[Cause]:
    """Validate rules and backends; a stored flaw that older releases accepted may stay."""
    spec = new["spec"]
    causes = _check_class(new, naming) if old is None else []
    if spec.get("defaultBackend") is None and not spec.get("rules"):
        causes.append(invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if (backend := spec.get("defaultBackend")) is not None:
        causes += _backend_causes(backend, "spec.defaultBackend")
    before: Object = {} if old is None else old["spec"]
    found = _rule_causes(spec, any(_flawed_wildcard_rules(before)))
    causes += islice(found, MAX_CAUSES + 1)
    found = _tls_causes(spec, any(_flawed_secret_names(before)))
    return causes + list(islice(found, MAX_CAUSES + 1))


def _check_class(new: Object, naming: Naming) -> list[Cause]:
    """Return the causes of the class of a new ingress, in the field or in the older annotation."""
    annotation = naming.translate(CLASS_ANNOTATION)
    given = (new["metadata"].get("annotations") or {}).get(annotation)
    if given is None or new["spec"].get("ingressClassName") is None:
        return []
    return [invalid(f"annotations.{annotation}", given, "can not be set when the class field is also set")]


def _rule_causes(spec: Object, lenient: bool) -> Iterator[Cause]:
    for index, rule in enumerate(spec.get("rules") or ()):
        path, host = f"spec.rules[{index}]", rule.get("host", "")
        if host and parse_ip(host) is not None:
            yield invalid(f"{path}.host", host, NOT_AN_IP)
        if host:
            yield from _host_causes(host, f"{path}.host")
        if not (lenient and "*" in host):
            yield from _paths_causes(rule, f"{path}.http")


def _host_causes(host: str, path: str) -> Iterator[Cause]:
    form = wildcard_subdomain if "*" in host else dns_subdomain
    return (invalid(path, host, text) for text in form(host))


def _flawed_wildcard_rules(spec: Object) -> Iterator[Cause]:
    for rule in spec.get("rules") or ():
        if "*" in rule.get("host", ""):
            yield from _paths_causes(rule, "")


def _paths_causes(rule: Object, path: str) -> Iterator[Cause]:
    http = rule.get("http")
    if http is None:
        return
    if not http.get("paths"):
        yield required(f"{path}.paths")
    for index, each in enumerate(http.get("paths") or ()):
        yield from _path_causes(each, f"{path}.paths[{index}]")


def _path_causes(each: Object, path: str) -> Iterator[Cause]:
    kind, value = each.get("pathType"), each.get("path", "")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    elif value or kind != "ImplementationSpecific":
        yield from (invalid(f"{path}.path", value, text) for text in absolute_path(value))
        if kind != "ImplementationSpecific":
            found = [f"must not contain '{part}'" for part in _NOT_IN_PATHS if part in value]
            found += [f"cannot end with '{end}'" for end in _NOT_AT_ENDS if value.endswith(end)]
            yield from (invalid(f"{path}.path", value, text) for text in found)
    yield from _backend_causes(each.get("backend") or {}, f"{path}.backend")


def _backend_causes(backend: Object, path: str) -> list[Cause]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return check_reference(resource, f"{path}.resource.")
    if service is None:
        return [invalid(path, "", "resource or service backend is required")]
    name = service.get("name", "")
    if name:
        causes = [invalid(f"{path}.service.name", name, text) for text in dns_1035_label(name)]
    else:
        causes = [required(f"{path}.service.name")]
    return causes + _port_causes(service.get("port") or {}, path)


def _port_causes(port: Object, path: str) -> list[Cause]:
    """Return the causes unless the service port of the backend at `path` has a name or a number."""
    name, number = port.get("name"), port.get("number")
    if name and number:
        return [invalid(path, "", "cannot set both port name & port number")]
    if name:
        return [invalid(f"{path}.service.port.name", name, text) for text in port_name(name)]
    if number:
        return [invalid(f"{path}.service.port.number", number, text) for text in port_number(number)]
    return [required(path, "port name or number is required")]


def _tls_causes(spec: Object, lenient: bool) -> Iterator[Cause]:
    for index, tls in enumerate(spec.get("tls") or ()):
        path = f"spec.tls[{index}]"
        for place, host in enumerate(tls.get("hosts") or ()):
            yield from _host_causes(host, f"{path}.hosts[{place}]")
        name = tls.get("secretName", "")
        if name and not lenient:
            yield from (invalid(f"{path}.secretName", name, text) for text in dns_subdomain(name))


def _flawed_secret_names(spec: Object) -> Iterator[str]:
    for tls in spec.get("tls") or ():
        if name := tls.get("secretName"):
            yield from dns_subdomain(name)


def validate_ingress_status(new: Object, old: Object, naming: Naming) -> list[Cause]:
    """Validate the load balancer's addresses, and host names that are not addresses."""
    return load_balancer_causes((new.get("status") or {}).get("loadBalancer") or {}, "status.loadBalancer")


INGRESS = KindRecord(
    group="networking.orch.io",
    kind="Ingress",
    generation=SPEC,
    validate=validate_ingress,
    validate_status=validate_ingress_status,
    cells=cells_cluster.ingress,
)
