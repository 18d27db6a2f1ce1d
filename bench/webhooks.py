"""Admission webhooks: creates that they are asked about, and creates that they are not."""

from __future__ import annotations

from bench.http1 import JSON, Connection
from bench.session import Bench
from bench.webhook_process import ALLOW, LABEL, LATE, WebhookProcess
from orchtw.objects import Object

OTHERS = 100
"""Configurations that do not match."""

VALIDATING = "validatingwebhookconfigurations"
MUTATING = "mutatingwebhookconfigurations"


def webhooks(bench: Bench) -> None:
    """POST ConfigMaps past no webhook, a hundred that do not match, and one that does, fast, changing or slow."""
    process = WebhookProcess()
    bench.machine.helpers.append(process.pid)
    group = f"/apis/{bench.options.naming.api_version('admissionregistration.orch.io/v1')}"
    try:
        _measure(bench, "none")
        _measure_others(bench, f"{group}/{MUTATING}", process)
        matching = (("fast", ALLOW, VALIDATING), ("label", LABEL, MUTATING), ("late", LATE, VALIDATING))
        for name, path, plural in matching:
            webhook = _webhook(process, path, "configmaps")
            bench.create(f"{group}/{plural}", _configuration(name, webhook))
            _measure(bench, name)
            _delete(bench, f"{group}/{plural}/{name}")
    finally:
        bench.machine.helpers.remove(process.pid)
        process.stop()


def _measure_others(bench: Bench, collection: str, process: WebhookProcess) -> None:
    """With a hundred configurations for other resources, then a hundred for objects with other labels."""
    for name in ("other_resources", "other_labels"):
        for number in range(OTHERS):
            if name == "other_resources":
                webhook = _webhook(process, ALLOW, f"things{number}")
            else:
                selector = {"matchLabels": {"app": f"app-{number}"}}
                webhook = {**_webhook(process, ALLOW, "*"), "objectSelector": selector}
            bench.create(collection, _configuration(f"other-{number}", webhook))
        _measure(bench, name)
        _delete(bench, collection)


def _webhook(process: WebhookProcess, path: str, resource: str) -> Object:
    rule = {"operations": ["CREATE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]}
    return {
        "name": "webhook.example.com",
        "clientConfig": process.client_config(path),
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


def _configuration(name: str, webhook: Object) -> Object:
    return {"metadata": {"name": name}, "webhooks": [webhook]}


def _delete(bench: Bench, path: str) -> None:
    connection = Connection(bench.endpoint)
    connection.call(bench.endpoint.request("DELETE", path, JSON))
    connection.close()


def _measure(bench: Bench, name: str) -> None:
    path, subject = bench.namespace(), bench.subject("configmaps")
    for workers in bench.options.conc:
        make = bench.creating(subject.within(path), subject, f"c{workers}")
        bench.measure(f"webhooks_{name}", workers, make, count=bench.options.n_create)
