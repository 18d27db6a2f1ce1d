"""The objects that are sent, as bytes that change only where a name, a shard and a number stand."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from bench.custom import widget

SEQUENCE_KEY = "bench.example/seq"
"""The annotation that carries an 8-digit number, by which a watch event is recognised without being parsed."""

SHARDS = 100
PADDING_LINE = 64  # characters of a padding annotation's value; its name sorts after the number's

_NAME, _SHARD, _NUMBER = "@NAME@", "@SHARD@", "@SEQ@"


class Template:
    """A JSON body with places for name, shard and number."""

    def __init__(self, body: object) -> None:
        text = orjson.dumps(body)
        for mark in (_NAME, _SHARD, _NUMBER):
            if text.count(mark.encode()) != 1:
                raise ValueError(f"{mark} must stand in the body once")
        head, rest = text.replace(b"%", b"%%").split(_NAME.encode())
        self._format = head + b"%b" + rest.replace(_SHARD.encode(), b"s-%02d").replace(_NUMBER.encode(), b"%08d")

    def render(self, name: str, number: int, shard: int | None = None) -> bytes:
        """Return the body of object `name`; its shard is that of its number unless one is given."""
        return self._format % (name.encode(), (number if shard is None else shard) % SHARDS, number % 10**8)


def numbered(prefix: str, number: int) -> str:
    """Return an object name of constant length."""
    return f"{prefix}-{number:07d}"


def sequence_patch(number: int) -> bytes:
    """Return a merge patch that changes nothing but the number."""
    return b'{"metadata":{"annotations":{"%b":"%08d"}}}' % (SEQUENCE_KEY.encode(), number)


def config_map(kib: int = 0) -> Template:
    """Return a ConfigMap of 1,002 bytes: eight short files; with more of them, up to `kib` KiB."""
    missing = kib * 1024 - len(_config_map(0).render(numbered("load", 0), 0))
    return _config_map(max(8, sum(len(orjson.dumps(_files(count))) <= missing for count in range(200)) - 1))


def _config_map(files: int) -> Template:
    labels = {"app": "bench", "part": "config", "shard": _SHARD}
    return Template(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": _NAME, "labels": labels, "annotations": {SEQUENCE_KEY: _NUMBER}},
            "data": _files(files),
        }
    )


def _files(count: int) -> dict[str, str]:
    return {f"setting-{i}.conf": f"key{i}=value-{i * 7};" * 6 for i in range(count)}


def pod(kib: int = 0) -> Template:
    """Return a Pod of 2,332 bytes: containers, probes, volumes, environment; annotations fill it up to `kib` KiB."""
    return _filled(_pod, kib)


def custom(kib: int = 0) -> Template:
    """Return an object of the custom kind, of 6 KiB, which annotations fill up to `kib` KiB."""
    return _filled(lambda padding: widget(_metadata({"app": "bench-web"}, padding)), kib)


def _filled(make: Callable[[dict[str, str]], object], kib: int) -> Template:
    """Return a body with as many annotations as bring it to that size."""
    missing = kib * 1024 - len(Template(make({})).render(numbered("load", 0), 0))
    line = len(f',"bench.example/text-00":"{"x" * PADDING_LINE}"')
    return Template(make({f"bench.example/text-{i:02d}": "x" * PADDING_LINE for i in range(max(0, missing // line))}))


def _metadata(labels: dict[str, str], padding: dict[str, str]) -> dict[str, object]:
    annotations = {SEQUENCE_KEY: _NUMBER, "bench.example/owner": "team-load", **padding}
    return {"name": _NAME, "labels": {**labels, "shard": _SHARD}, "annotations": annotations}


def _pod(padding: dict[str, str]) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata({"app": "bench-web", "tier": "frontend", "version": "v2.7.1"}, padding),
        "spec": {
            "automountServiceAccountToken": False,
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "nodeSelector": {"disk": "ssd", "pool": "web"},
            "securityContext": {"runAsUser": 1000, "runAsNonRoot": True, "fsGroup": 2000},
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}],
            "containers": [_web(), _log_agent()],
            "volumes": [
                {"name": "cache", "emptyDir": {}},
                {"name": "config", "configMap": {"name": "web-config", "defaultMode": 420}},
            ],
        },
    }


def _web() -> dict[str, object]:
    field_ref = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    key_ref = {"configMapKeyRef": {"name": "web-features", "key": "enabled"}}
    return {
        "name": "web",
        "image": "registry.example/web/frontend:2.7.1",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/server"],
        "args": ["--listen=:8080", "--log-level=info", "--cache-dir=/var/cache/web"],
        "ports": [
            {"name": "http", "containerPort": 8080, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9090, "protocol": "TCP"},
        ],
        "env": [
            {"name": "ENVIRONMENT", "value": "production"},
            {"name": "REGION", "value": "north-1"},
            {"name": "POD_NAME", "valueFrom": field_ref},
            {"name": "FEATURES", "valueFrom": key_ref},
        ],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "500m", "memory": "256Mi"},
        },
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
            "initialDelaySeconds": 10,
            **_probe(10, 2, 3),
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080, "scheme": "HTTP"}, **_probe(5, 1, 2)},
        "volumeMounts": [
            {"name": "cache", "mountPath": "/var/cache/web"},
            {"name": "config", "mountPath": "/etc/web", "readOnly": True},
        ],
    }


def _log_agent() -> dict[str, object]:
    return {
        "name": "log-agent",
        "image": "registry.example/infra/log-agent:1.4.0",
        "imagePullPolicy": "IfNotPresent",
        "args": ["--source=/var/log/web"],
        "env": [{"name": "SINK", "value": "logs.infra.example:4317"}],
        "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}},
        "livenessProbe": {"tcpSocket": {"port": 4318}, "initialDelaySeconds": 5, **_probe(20, 1, 3)},
        "volumeMounts": [{"name": "cache", "mountPath": "/var/log/web"}],
    }


def _probe(period_s: int, timeout_s: int, failures: int) -> dict[str, object]:
    return {
        "periodSeconds": period_s,
        "timeoutSeconds": timeout_s,
        "successThreshold": 1,
        "failureThreshold": failures,
    }
