"""Admission handlers as a user of kopf writes them: they label ConfigMaps, and refuse those without data."""

from __future__ import annotations

import os
from typing import Any

import kopf

FOLDER = os.environ["WEBHOOK_FOLDER"]


@kopf.on.startup()
def settle(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Serve with the certificate of the test, and keep the configurations of the webhooks."""
    settings.admission.server = kopf.WebhookServer(
        addr="127.0.0.1",
        host="127.0.0.1",
        certfile=f"{FOLDER}/server.crt",
        pkeyfile=f"{FOLDER}/server.key",
        cafile=f"{FOLDER}/ca.crt",
    )
    settings.admission.managed = "auto.example.com"


@kopf.on.mutate("configmaps", operations=["CREATE", "UPDATE"], labels={"app": "shop"})
def mark(patch: kopf.Patch, warnings: list[str], dryrun: bool, **_: Any) -> None:
    """Say who was here."""
    patch.metadata.labels["seen"] = "dry" if dryrun else "yes"
    warnings.append("seen by the operator")


@kopf.on.validate("configmaps", operations=["CREATE", "UPDATE"], labels={"app": "shop"})
def check(body: kopf.Body, **_: Any) -> None:
    """None stands for no shop."""
    if not body.get("data"):
        raise kopf.AdmissionError("there is nothing to sell", code=422)
