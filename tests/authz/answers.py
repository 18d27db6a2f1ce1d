"""Fixture of the answers of an authorization webhook."""

from __future__ import annotations

from typing import Any

from orchtw.testing.webhook import WebhookRequest
from orchtw.wire.objects import Object


def decided(asked: WebhookRequest, **status: Any) -> Object:
    """The review that was sent, with this status."""
    return {"kind": asked.json["kind"], "apiVersion": asked.json["apiVersion"], "status": status}
