"""Which function does which verb."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from orchtw.registry.targets import Targets
from orchtw.verbs import scale
from orchtw.verbs.apply import patch_or_apply
from orchtw.verbs.binding import bind_pod
from orchtw.verbs.connect import connect, log
from orchtw.verbs.context import Context
from orchtw.verbs.create import create
from orchtw.verbs.delete import delete
from orchtw.verbs.deletecollection import deletecollection
from orchtw.verbs.eviction import evict
from orchtw.verbs.get import get
from orchtw.verbs.handler import Verb
from orchtw.verbs.list import list_objects
from orchtw.verbs.update import update
from orchtw.verbs.watch import watch
from orchtw.verbs.websocket import WebSocketWatch

OBJECT_SUBRESOURCES = ("status", "finalize", "approval", "ephemeralcontainers")
"""Sub-resources that show and take the whole object."""

CONNECT_SUBRESOURCES = ("exec", "attach", "portforward", "proxy")
CONNECT_VERBS = ("get", "create", "update", "patch", "delete")


def object_verbs(context: Context) -> Mapping[str, Verb]:
    """The verbs on objects and collections."""
    return {
        "get": partial(get, context),
        "list": partial(list_objects, context),
        "watch": WebSocketWatch(partial(watch, context), context.origins, context.representations),
        "create": partial(create, context),
        "update": partial(update, context),
        "patch": partial(patch_or_apply, context),
        "delete": partial(delete, context),
        "deletecollection": partial(deletecollection, context),
    }


def subresource_verbs(context: Context, targets: Targets) -> Mapping[str, Mapping[str, Verb]]:
    """The verbs on each sub-resource."""
    budgets = targets.stored_target("policy", "v1", "poddisruptionbudgets")
    whole: Mapping[str, Verb] = {
        "get": partial(get, context),
        "update": partial(update, context),
        "patch": partial(patch_or_apply, context),
    }
    connected = dict.fromkeys(CONNECT_VERBS, partial(connect, context))
    return {
        **dict.fromkeys(OBJECT_SUBRESOURCES, whole),
        **dict.fromkeys(CONNECT_SUBRESOURCES, connected),
        "log": {"get": partial(log, context)},
        "binding": {"create": partial(bind_pod, context)},
        "eviction": {"create": partial(evict, context, budgets)},
        "scale": {
            "get": partial(scale.get_scale, context),
            "update": partial(scale.update_scale, context),
            "patch": partial(scale.patch_scale, context),
        },
    }
