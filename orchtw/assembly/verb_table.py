"""Functions of the verbs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from orchtw.authn.method import TokenReviewer
from orchtw.authn.service_accounts.issuer import AccountTokens
from orchtw.authz.decision import Authorizer
from orchtw.proxy.connect import connect
from orchtw.proxy.forwarding import ProxyTransport
from orchtw.proxy.log import log
from orchtw.registry.targets import Targets
from orchtw.rules.origins import AllowedOrigins
from orchtw.verbs import scale
from orchtw.verbs.apply import patch_or_apply
from orchtw.verbs.binding import bind_pod
from orchtw.verbs.context import Reading, WatchTimes, Writing
from orchtw.verbs.create import create
from orchtw.verbs.delete import delete
from orchtw.verbs.delete_collection import deletecollection
from orchtw.verbs.eviction import evict
from orchtw.verbs.get import at_once, get
from orchtw.verbs.handler import AtOnce, Endpoint, Verb
from orchtw.verbs.list import list_objects
from orchtw.verbs.reviews import Reviews
from orchtw.verbs.self_subject_review import review_self_subject
from orchtw.verbs.self_subject_rules_review import review_self_rules
from orchtw.verbs.subject_access_review import review_local_access, review_self_access, review_subject_access
from orchtw.verbs.token_request import TokenRequests
from orchtw.verbs.token_review import review_token
from orchtw.verbs.update import update
from orchtw.verbs.watch import watch
from orchtw.verbs.websocket import WebSocketVerb, event_messages, log_messages

OBJECT_SUBRESOURCES = ("status", "finalize", "approval", "ephemeralcontainers", "resize")
"""Sub-resources that show and take the whole object."""

CONNECT_SUBRESOURCES = ("exec", "attach", "portforward", "proxy")
CONNECT_VERBS = ("get", "create", "update", "patch", "delete", "")
"""The last one is OPTIONS, for which there is no word."""


def object_verbs(
    reading: Reading, writing: Writing, times: WatchTimes, origins: AllowedOrigins
) -> Mapping[str, Verb]:
    """Return the verbs on objects and collections; pages of `origins` may watch over WebSockets."""
    return {
        "get": partial(get, reading),
        "list": partial(list_objects, reading),
        "watch": WebSocketVerb(partial(watch, reading, times), event_messages, origins, reading.representations),
        "create": partial(create, writing),
        "update": partial(update, writing),
        "patch": partial(patch_or_apply, writing),
        "delete": partial(delete, writing),
        "deletecollection": partial(deletecollection, reading, writing, times.clock),
    }


def equal_calls(reading: Reading) -> Mapping[str, AtOnce]:
    """Return how verbs on objects answer equal calls at once, for those that can."""
    return {"get": partial(at_once, reading)}


def subresource_verbs(
    reading: Reading, writing: Writing, targets: Targets, transport: ProxyTransport, tokens: AccountTokens
) -> Mapping[str, Mapping[str, Verb]]:
    """Return the verbs on each sub-resource."""
    budgets = targets.stored_target("policy", "v1", "poddisruptionbudgets")
    whole: Mapping[str, Verb] = {
        "get": partial(get, reading),
        "update": partial(update, writing),
        "patch": partial(patch_or_apply, writing),
    }
    connected = dict.fromkeys(CONNECT_VERBS, partial(connect, writing, transport))
    read_log = partial(log, writing, transport)
    logged = WebSocketVerb(read_log, log_messages, transport.origins, reading.representations)
    return {
        **dict.fromkeys(OBJECT_SUBRESOURCES, whole),
        **dict.fromkeys(CONNECT_SUBRESOURCES, connected),
        "log": {"get": logged},
        "binding": {"create": partial(bind_pod, writing)},
        "eviction": {"create": partial(evict, writing, budgets)},
        "token": {"create": TokenRequests(writing, targets, tokens).create},
        "scale": {
            "get": partial(scale.get_scale, writing),
            "update": partial(scale.update_scale, writing),
            "patch": partial(scale.patch_scale, writing),
        },
    }


def review_endpoints(
    reviews: Reviews, authorizer: Authorizer, tokens: TokenReviewer, now: Callable[[], float]
) -> Mapping[str, Endpoint]:
    """Return the function for each kind of review by its plural, with the authorizer and tokens of requests."""
    return {
        "tokenreviews": partial(review_token, reviews, tokens),
        "subjectaccessreviews": partial(review_subject_access, reviews, authorizer),
        "selfsubjectaccessreviews": partial(review_self_access, reviews, authorizer),
        "localsubjectaccessreviews": partial(review_local_access, reviews, authorizer),
        "selfsubjectrulesreviews": partial(review_self_rules, reviews, authorizer),
        "selfsubjectreviews": partial(review_self_subject, reviews, now),
    }
