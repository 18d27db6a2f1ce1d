"""Ingress classes and their controllers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.networking.references import check_reference
from orchtw.registry.kind import KindRecord
from orchtw.registry.traits import SPEC
from orchtw.schema.tables import cells_cluster
from orchtw.schema.validation.validators import Check
from orchtw.values.causes import forbidden, invalid, not_supported, required
from orchtw.values.names import dns_label, dns_subdomain, regex_text
from orchtw.wire.objects import Object

_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_SCOPES: Final = ("Cluster", "Namespace")


def check_class_spec(new: Object, old: Object | None) -> list[Cause]:
    """Validate that the controller is named by a path below a domain."""
    controller = new.get("controller")
    if not controller:
        return []
    domain, _, path = controller.partition("/")
    if not (domain and path):
        return [invalid("controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    causes = [invalid("controller", domain, text) for text in dns_subdomain(domain)]
    if re.fullmatch(_PATH, path) is None:
        causes.append(invalid("controller", path, regex_text("Invalid path", _PATH)))
    return causes


def check_parameters(new: Object, old: Object | None) -> list[Cause]:
    """Validate that a namespace is given for namespaced parameters, and for no others."""
    causes = check_reference(new, "")
    scope, namespace = new.get("scope"), new.get("namespace")
    if scope is None:
        causes.append(required("scope"))
    elif scope not in _SCOPES:
        causes.append(not_supported("scope", scope, _SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            causes.append(forbidden("namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        causes.append(required("namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        causes += [invalid("namespace", namespace, text) for text in dns_label(namespace)]
    return causes


def checks(naming: Naming) -> Mapping[str, Check]:
    """Return the checks by message name."""
    package = "orch.io.api.networking.v1."
    return {
        f"{package}IngressClassSpec": check_class_spec,
        f"{package}IngressClassParametersReference": check_parameters,
    }


INGRESS_CLASS = KindRecord(
    group="networking.orch.io", kind="IngressClass", generation=SPEC, cells=cells_cluster.ingress_class
)
