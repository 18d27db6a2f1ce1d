"""An operator that marks config maps: `python -m kopf run --standalone --namespace N THIS`."""

from __future__ import annotations

import asyncio
from typing import Any

import kopf


@kopf.on.startup()
def settle(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Post no events, and do not follow discovery: the config maps are all that matters here."""
    settings.scanning.disabled = True
    settings.posting.enabled = False


@kopf.on.create("", "v1", "configmaps", labels={"mark": "wanted"})
@kopf.on.resume("", "v1", "configmaps", labels={"mark": "wanted"})
@kopf.on.update("", "v1", "configmaps", labels={"mark": "wanted"}, field="data.asked")
async def mark(body: Any, patch: Any, **_: Any) -> None:
    """Answer what is asked."""
    await asyncio.sleep(0)
    patch["data"] = {"answered": body["data"]["asked"]}
