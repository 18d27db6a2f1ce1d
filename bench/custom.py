"""A custom kind for the benchmarks: a definition with a schema of 300 nodes, and an object of 6 KiB of its kind."""

from __future__ import annotations

from typing import Any

from orchtw.naming.naming import Naming

GROUP = "bench.example.com"
VERSION = "v1"
PLURAL = "widgets"
LABEL_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NAME: Schema = {"type": "string", "pattern": LABEL_PATTERN, "maxLength": 63}
COUNT: Schema = {"type": "integer", "format": "int32", "minimum": 0}
SECONDS: Schema = {**COUNT, "maximum": 86400}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
TEXT_MAP: Schema = {"type": "object", "additionalProperties": TEXT}


def definition(naming: Naming, plural: str = PLURAL, group: str = GROUP) -> dict[str, object]:
    """Return the definition of a resource, in the vocabulary that is served."""
    kind = plural.removesuffix("s").capitalize()
    extension = naming.extension_prefix
    columns = [
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    scale = {f"{each}ReplicasPath": f".{each}.replicas" for each in ("spec", "status")}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {**schema(extension), "description": f"One of many {plural}."}},
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": columns,
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": f"{naming.group('apiextensions.orch.io')}/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def schema(extension: str) -> Schema:
    """Return the structural schema; `extension` begins the names of extensions."""
    quantity = {"anyOf": [{"type": "integer"}, {"type": "string"}], f"{extension}int-or-string": True}
    amounts = {"type": "object", "additionalProperties": quantity}
    resources = _part(limits=amounts, requests=amounts)
    port = {"anyOf": [{"type": "integer"}, {"type": "string"}], f"{extension}int-or-string": True}
    container = _container(extension, resources, port)
    condition = _part(
        "type", "status", type=TEXT, status=_choice("True", "False", "Unknown"), reason=TEXT, message=TEXT,
        lastTransitionTime={"type": "string", "format": "date-time"}, observedGeneration=COUNT,
    )  # fmt: skip
    settings = {"type": "object", f"{extension}preserve-unknown-fields": True}
    spec = _part(
        "replicas", replicas={**COUNT, "maximum": 10000}, paused={**FLAG, "default": False}, version=TEXT,
        update=_part(
            type={**_choice("Rolling", "Recreate"), "default": "Rolling"}, maxSurge=port, maxUnavailable=port,
        ),
        containers=_keyed(extension, container, "name"), initContainers=_keyed(extension, container, "name"),
        selector=_selector(), nodeSelector=TEXT_MAP, tolerations=_list(_toleration()), affinity=_affinity(),
        volumes=_keyed(extension, _volume(quantity), "name"), settings=settings, backup=_backup(),
        routes=_list(_route(port)), hosts={**TEXTS, f"{extension}list-type": "set"}, monitoring=_monitoring(),
        serviceAccount=NAME, priorityClass=NAME, hostNetwork=FLAG, graceSeconds=SECONDS, dnsPolicy=TEXT,
    )  # fmt: skip
    status = _part(
        replicas=COUNT, readyReplicas=COUNT, phase=TEXT, selector=TEXT, observedGeneration=COUNT,
        conditions=_keyed(extension, condition, "type"),
    )  # fmt: skip
    about = {"apiVersion": TEXT, "kind": TEXT, "metadata": {"type": "object"}}
    return {"type": "object", "required": ["spec"], "properties": {**about, "spec": spec, "status": status}}


def _part(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _keyed(extension: str, items: Schema, key: str) -> Schema:
    return {**_list(items), f"{extension}list-type": "map", f"{extension}list-map-keys": [key]}


def _choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _container(extension: str, resources: Schema, port: Schema) -> Schema:
    key = _part("name", "key", name=NAME, key=TEXT, optional=FLAG)
    source = _part(configMapKeyRef=key, secretKeyRef=key, fieldRef=_part("fieldPath", fieldPath=TEXT))
    probe = _part(
        httpGet=_part("port", path={**TEXT, "default": "/"}, port=port, scheme=_choice("HTTP", "HTTPS")),
        periodSeconds={**SECONDS, "default": 10}, timeoutSeconds=SECONDS, failureThreshold=COUNT,
    )  # fmt: skip
    ports = _part(
        "containerPort", name=NAME, containerPort={**COUNT, "maximum": 65535},
        protocol={**_choice("TCP", "UDP"), "default": "TCP"},
    )  # fmt: skip
    variable = _part("name", name=TEXT, value=TEXT, valueFrom=source)
    mount = _part("name", "mountPath", name=NAME, mountPath=TEXT, readOnly=FLAG, subPath=TEXT)
    return _part(
        "name", "image", name=NAME, image=TEXT, imagePullPolicy=_choice("Always", "Never", "IfNotPresent"),
        command=TEXTS, args=TEXTS, env=_keyed(extension, variable, "name"), resources=resources,
        ports=_keyed(extension, ports, "containerPort"), livenessProbe=probe, readinessProbe=probe,
        volumeMounts=_keyed(extension, mount, "mountPath"),
    )  # fmt: skip


def _selector() -> Schema:
    expression = _part(
        "key", "operator", key=TEXT, operator=_choice("In", "NotIn", "Exists", "DoesNotExist"), values=TEXTS
    )
    return _part(matchLabels=TEXT_MAP, matchExpressions=_list(expression))


def _toleration() -> Schema:
    return _part(
        key=TEXT, operator=_choice("Exists", "Equal"), value=TEXT, effect=TEXT, tolerationSeconds={"type": "integer"}
    )


def _affinity() -> Schema:
    term = _part("topologyKey", labelSelector=_selector(), namespaces=TEXTS, topologyKey=TEXT)
    return _part(near=_list(term), apart=_list(_part("weight", "term", weight={**COUNT, "maximum": 100}, term=term)))


def _volume(quantity: Schema) -> Schema:
    item = _part("key", "path", key=TEXT, path=TEXT, mode=COUNT)
    source = _part(name=NAME, defaultMode=COUNT, items=_list(item))
    return _part(
        "name", name=NAME, configMap=source, secret=source, emptyDir=_part(medium=TEXT, sizeLimit=quantity),
        claim=_part("size", size=quantity, storageClass=TEXT, accessModes=TEXTS),
    )  # fmt: skip


def _backup() -> Schema:
    store = _part("url", url={**TEXT, "format": "uri"}, region=TEXT, secret=NAME, prefix=TEXT, insecure=FLAG)
    return _part(
        enabled=FLAG, schedule=TEXT, keep={**COUNT, "default": 7}, store=store, compression=_choice("gzip", "none")
    )


def _route(port: Schema) -> Schema:
    target = _part("service", service=NAME, port=port, weight={**COUNT, "default": 1})
    match = _part(path={**TEXT, "maxLength": 1024}, method=_choice("GET", "POST", "DELETE"), headers=TEXT_MAP)
    return _part(
        "name", name=NAME, matches=_list(match), targets=_list(target), timeoutSeconds=SECONDS,
        retry=_part(attempts=COUNT, on=TEXTS, backoffSeconds=SECONDS), mirror=target,
    )  # fmt: skip


def _monitoring() -> Schema:
    rule = _part("alert", "expr", alert=TEXT, expr=TEXT, **{"for": TEXT}, labels=TEXT_MAP, annotations=TEXT_MAP)
    return _part(enabled=FLAG, interval=TEXT, path=TEXT, labels=TEXT_MAP, rules=_list(rule))


def widget(metadata: dict[str, object]) -> dict[str, object]:
    """Return an object with most of what its schema knows; its metadata is given."""
    ports = [{"name": "http", "containerPort": 8080}, {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}]
    alerts = [
        {
            "alert": f"Latency{percentile}",
            "expr": f"quantile(0.{percentile}, rate(latency_seconds_bucket[5m])) > 0.5",
            "for": "10m",
            "labels": {"severity": "page", "team": "shop"},
            "annotations": {"summary": f"The {percentile}th percentile of answers takes too long"},
        }
        for percentile in (50, 90, 99)
    ]
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Widget",
        "metadata": metadata,
        "spec": {
            "replicas": 3,
            "version": "2.7.1",
            "update": {"type": "Rolling", "maxSurge": "25%", "maxUnavailable": 1},
            "containers": [_main(ports), _side("log-agent"), _side("mesh-agent")],
            "initContainers": [_side("prepare"), _side("migrate")],
            "selector": {"matchLabels": {"app": "bench-web", "tier": "frontend"}},
            "nodeSelector": {"disk": "ssd", "pool": "web"},
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}],
            "affinity": {"apart": [{"weight": 50, "term": {"topologyKey": "zone", "namespaces": ["shop", "web"]}}]},
            "volumes": [
                {"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}},
                {
                    "name": "config",
                    "configMap": {"name": "web-config", "items": [{"key": "a.conf", "path": "a.conf"}]},
                },
                {"name": "data", "claim": {"size": "10Gi", "storageClass": "fast", "accessModes": ["ReadWriteOnce"]}},
            ],
            "settings": {"cache": {"size": 1024, "policy": "lru"}, "features": ["search", "cart"], "debug": False},
            "backup": {"enabled": True, "schedule": "0 3 * * *", "store": {"url": "https://store.example.com/shop"}},
            "routes": [_target_of(name) for name in ("cart", "search", "account", "orders")],
            "hosts": ["shop.example.com", "www.example.com"],
            "monitoring": {"enabled": True, "interval": "30s", "path": "/metrics", "rules": alerts},
        },
    }


def _main(ports: list[dict[str, object]]) -> dict[str, object]:
    probe = {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 2}
    return {
        **_side("web"),
        "command": ["/bin/server"],
        "ports": ports,
        "livenessProbe": {**probe, "periodSeconds": 20},
        "readinessProbe": probe,
    }


def _side(name: str) -> dict[str, object]:
    key = {"configMapKeyRef": {"name": f"{name}-features", "key": "enabled"}}
    return {
        "name": name,
        "image": f"registry.example/infra/{name}:1.4.0",
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--source=/var/log/{name}", "--log-level=info", "--cache-dir=/var/cache"],
        "env": [
            {"name": "ENVIRONMENT", "value": "production"},
            {"name": "REGION", "value": "north-1"},
            {"name": "SINK", "value": "logs.infra.example:4317"},
            {"name": "FEATURES", "valueFrom": key},
        ],
        "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": 1, "memory": "64Mi"}},
        "volumeMounts": [{"name": "cache", "mountPath": "/var/cache"}, {"name": "config", "mountPath": "/etc/web"}],
    }


def _target_of(name: str) -> dict[str, object]:
    return {
        "name": name,
        "matches": [{"path": f"/{name}", "method": "GET"}, {"path": f"/{name}", "method": "POST"}],
        "targets": [{"service": name, "port": 80, "weight": 9}, {"service": f"{name}-next", "port": "http"}],
        "timeoutSeconds": 30,
    }
