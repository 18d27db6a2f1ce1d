"""Websites, and what they lead to: pure functions without a cluster."""

from __future__ import annotations

from typing import Any

GROUP, VERSION, PLURAL = "example.com", "v1", "websites"
FINALIZER = "example.com/dns"
RECORDS = "dns"
"""Namespace that stands for the outside service in which hosts are recorded."""

Object = dict[str, Any]


def pages_of(website: Object) -> Object:
    """Return the ConfigMap with the pages of a website."""
    meta = website["metadata"]
    owner = {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Website",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "metadata": {
            "name": f"{meta['name']}-pages",
            "namespace": meta["namespace"],
            "labels": {"website": meta["name"]},
            "ownerReferences": [owner],
        },
        "data": dict(website["spec"].get("pages", {})),
    }


def record_of(website: Object) -> Object:
    """Return the record of a website's host."""
    meta = website["metadata"]
    return {
        "metadata": {"name": website["spec"]["host"], "namespace": RECORDS},
        "data": {"website": f"{meta['namespace']}/{meta['name']}"},
    }


def controls(website: Object, child: Object) -> bool:
    """Report whether a website is the controller of an object."""
    owners = child["metadata"].get("ownerReferences") or []
    return any(owner["uid"] == website["metadata"]["uid"] and owner.get("controller") for owner in owners)


def status_of(website: Object, problem: str = "") -> Object:
    """Return the status of a website; `problem` is why it is not ready."""
    ready = {"type": "Ready", "status": "False" if problem else "True", "reason": problem or "Served"}
    return {
        "observedGeneration": website["metadata"]["generation"],
        "pages": len(website["spec"].get("pages", {})),
        "conditions": [ready],
    }
