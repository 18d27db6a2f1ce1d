"""Pods made from templates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from orchtw.wire.objects import Object


def pod_maker(template: Object, owner: Object, reference: Object) -> Callable[[], Object]:
    """Return a function that makes new pods from a template, each a dict of its own.

    Their names are generated from the owner's; `reference` is the owner reference to it.
    """
    meta = template.get("metadata") or {}
    kept = {key: meta[key] for key in ("labels", "annotations", "finalizers") if meta.get(key)}
    owned = owner["metadata"]
    pod: Any = {
        "metadata": {
            "generateName": f"{owned['name']}-",
            "namespace": owned["namespace"],
            **kept,
            "ownerReferences": [reference],
        },
        "spec": template["spec"],
    }
    return partial(orjson.loads, orjson.dumps(pod))
