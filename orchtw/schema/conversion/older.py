"""Versions that are no longer served, but in which objects may be stored (reference VER-17).

Each function converts an object of such a version to the fields of the present storage version. Kinds without a
function have the same fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from orchtw.naming.naming import Naming
from orchtw.schema.conversion.convert import Function
from orchtw.schema.conversion.older_definitions import definition_v1beta1_to_v1
from orchtw.wire.objects import Object

_RBAC: Final = "rbac.authorization.orch.io"
_ROLLBACK: Final = "deprecated.deployment.rollback.to"
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
_LEGACY_SIGNER: Final = "orch.io/legacy-unknown"


def ingress_to_v1(ingress: Object, naming: Naming) -> Object:
    """Rename `backend` to `defaultBackend`, and split each backend into service name and port."""
    spec = dict(ingress.get("spec") or {})
    if (default := spec.pop("backend", None)) is not None:
        spec["defaultBackend"] = _backend(default)
    if rules := spec.get("rules"):
        spec["rules"] = [_rule(rule) for rule in rules]
    return {**ingress, "spec": spec}


def _rule(rule: Mapping[str, Any]) -> Object:
    http = rule.get("http")
    if http is None:
        return dict(rule)
    paths = [_path(path) for path in http.get("paths") or ()]
    return {**rule, "http": {**http, "paths": paths}}


def _path(path: Mapping[str, Any]) -> Object:
    return {"pathType": "ImplementationSpecific", **path, "backend": _backend(path.get("backend") or {})}


def _backend(backend: Mapping[str, Any]) -> Object:
    """Convert a backend: a text is the port's name; a backend that is a resource has no service."""
    name, port = backend.get("serviceName", ""), backend.get("servicePort")
    found = {key: value for key, value in backend.items() if key == "resource"}
    if name or port:
        of_port = {"name" if isinstance(port, str) else "number": port} if port else {}
        found["service"] = {"name": name, "port": of_port}
    return found


def deployment_to_apps_v1(deployment: Object, naming: Naming) -> Object:
    """Move the revision to roll back to into an annotation."""
    spec = dict(deployment.get("spec") or {})
    rollback = spec.pop("rollbackTo", None)
    selected = _selected({**deployment, "spec": spec})
    return selected if rollback is None else _annotated(selected, _ROLLBACK, str(rollback.get("revision", 0)))


def daemon_set_to_apps_v1(daemon_set: Object, naming: Naming) -> Object:
    """Move the generation of the template into an annotation."""
    spec = dict(daemon_set.get("spec") or {})
    generation = spec.pop("templateGeneration", 0)
    selected = _selected({**daemon_set, "spec": spec})
    return _annotated(selected, TEMPLATE_GENERATION, str(generation)) if generation else selected


def workload_to_apps_v1(workload: Object, naming: Naming) -> Object:
    """Fill in the selector; the other fields are the same."""
    return _selected(workload)


def _selected(workload: Object) -> Object:
    """Set an absent selector to the labels of the template."""
    spec = workload.get("spec") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if spec.get("selector") is not None or not labels:
        return workload
    return {**workload, "spec": {**spec, "selector": {"matchLabels": labels}}}


def _annotated(obj: Object, key: str, value: str) -> Object:
    annotations = {**(obj["metadata"].get("annotations") or {}), key: value}
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def runtime_class_v1alpha1_to_v1(runtime_class: Object, naming: Naming) -> Object:
    """Move the fields of `spec`, which v1 lacks, to the top."""
    rest = dict(runtime_class)
    spec = dict(rest.pop("spec", None) or {})
    return {**rest, "handler": spec.pop("runtimeHandler", ""), **spec}


def binding_v1alpha1_to_v1(binding: Object, naming: Naming) -> Object:
    """Give subjects an apiGroup; the user `*` becomes the group of all authenticated users."""
    subjects = [_subject(subject, naming.group(_RBAC)) for subject in binding.get("subjects") or ()]
    return {**binding, "subjects": subjects} if subjects else binding


def _subject(subject: Mapping[str, Any], rbac: str) -> Object:
    found = dict(subject)
    group, _, _ = found.pop("apiVersion", "").rpartition("/")
    if found.get("kind") == "ServiceAccount":
        group = ""
    elif found.get("kind") in ("User", "Group"):
        group = rbac
    found["apiGroup"] = group
    if group == rbac and (found["kind"], found.get("name")) == ("User", "*"):
        found.update(kind="Group", name="system:authenticated")
    return found


def signing_request_v1beta1_to_v1(request: Object, naming: Naming) -> Object:
    """Name the legacy signer where none is given."""
    spec = request.get("spec") or {}
    if spec.get("signerName"):
        return request
    return {**request, "spec": {**spec, "signerName": naming.translate(_LEGACY_SIGNER)}}


def _each(kinds: str, versions: Iterable[str], function: Function) -> dict[tuple[str, str], Function]:
    return {(version, kind): function for version in versions for kind in kinds.split()}


OLDER: Final[Mapping[tuple[str, str], Function]] = {
    **_each("Ingress", ("extensions/v1beta1", "networking.orch.io/v1beta1"), ingress_to_v1),
    **_each("Deployment", ("extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"), deployment_to_apps_v1),
    **_each("DaemonSet", ("extensions/v1beta1", "apps/v1beta2"), daemon_set_to_apps_v1),
    **_each("ReplicaSet", ("extensions/v1beta1",), workload_to_apps_v1),
    **_each("StatefulSet", ("apps/v1beta1",), workload_to_apps_v1),
    **_each("RuntimeClass", ("node.orch.io/v1alpha1",), runtime_class_v1alpha1_to_v1),
    **_each("RoleBinding ClusterRoleBinding", (f"{_RBAC}/v1alpha1",), binding_v1alpha1_to_v1),
    **_each("CertificateSigningRequest", ("certificates.orch.io/v1beta1",), signing_request_v1beta1_to_v1),
    **_each("CustomResourceDefinition", ("apiextensions.orch.io/v1beta1",), definition_v1beta1_to_v1),
}
"""Conversion functions by apiVersion in neutral names, and kind."""


def older_function(api_version: str, kind: str, naming: Naming) -> Callable[[Object], Object]:
    """Return the conversion from an older version to the present fields; `api_version` is in `naming`'s names."""
    group, slash, version = api_version.rpartition("/")
    function = OLDER.get((f"{naming.neutral(group)}{slash}{version}", kind))
    return dict if function is None else lambda obj: function(obj, naming)
