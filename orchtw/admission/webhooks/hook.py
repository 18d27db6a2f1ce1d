"""Webhooks compiled from their configuration, ready to be matched and called (reference HOOK-1, HOOK-2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
import msgspec

from orchtw.admission.webhooks.credentials import Identities
from orchtw.admission.webhooks.rules import EVERYTHING, WebhookRule, rule_of
from orchtw.errors import BadRequest
from orchtw.outbound.policy import BadTLS
from orchtw.outbound.remote import Remote
from orchtw.rules.selectors import ALL_LABELS, LabelSelector, selector_of_object
from orchtw.rules.webhook_clients import REVIEW_VERSIONS
from orchtw.schema.cel.checked import Checked
from orchtw.wire.objects import Object

_HARMLESS: Final = ("None", "NoneOnDryRun")
_UNKNOWN_REVIEWS: Final = (
    "could not create admission objects: webhook does not accept known AdmissionReview versions "
    f"({', '.join(REVIEW_VERSIONS)})"
)
_TIMEOUT_S: Final = 10


class Hook(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One webhook. `key` stays the same when its configuration changes.

    `review` is the version of the reviews that it gets. `equivalent`: its matchPolicy is Equivalent. `patient`: its
    failurePolicy is Ignore. `harmless`: it may be called in dry runs. `again`: its reinvocationPolicy is IfNeeded.
    `broken` is the reason why it cannot be called, or empty. `conditions` are its match conditions, and
    `condition_names` the variables that they mention.
    """

    configuration: str
    name: str
    key: str
    rules: tuple[WebhookRule, ...]
    namespaces: LabelSelector = ALL_LABELS
    objects: LabelSelector = ALL_LABELS
    equivalent: bool = True
    patient: bool = False
    harmless: bool = True
    again: bool = False
    timeout_s: int = _TIMEOUT_S
    review: str = "v1"
    remote: Remote
    broken: str = ""
    conditions: tuple[Checked, ...] = ()
    condition_names: frozenset[str] = frozenset()

    @property
    def plurals(self) -> frozenset[str]:
        """Return the plurals that its rules name, or `*`."""
        return frozenset(plural for rule in self.rules for plural, _ in rule.resources)


@attrs.frozen(slots=True, eq=False)
class Configuration:
    """Webhooks of one configuration object, in its order."""

    name: str
    hooks: tuple[Hook, ...] = ()
    _of: Mapping[str, tuple[Hook, ...]] = attrs.field(init=False)

    @_of.default
    def _by_plural(self) -> Mapping[str, tuple[Hook, ...]]:
        found: dict[str, list[Hook]] = {}
        for hook in self.hooks:
            for plural in hook.plurals:
                found.setdefault(plural, []).append(hook)
        return {plural: tuple(hooks) for plural, hooks in found.items()}

    def naming(self, plural: str) -> Sequence[Hook]:
        """Return the webhooks with a rule that names a resource, in order."""
        one, all_of_them = self._of.get(plural, ()), self._of.get(EVERYTHING, ())
        if not one or not all_of_them:
            return one or all_of_them
        wanted = {id(hook) for hook in (*one, *all_of_them)}
        return [hook for hook in self.hooks if id(hook) in wanted]


def configuration_of(obj: Object, identities: Identities) -> Configuration:
    """Compile a stored configuration; an invalid webhook is kept as a broken one."""
    name = obj["metadata"]["name"]
    seen: Counter[str] = Counter()
    hooks = []
    for spec in obj.get("webhooks") or ():
        number = seen[spec["name"]]
        seen[spec["name"]] += 1
        hooks.append(_hook(name, f"{name}/{spec['name']}/{number}", spec, identities))
    return Configuration(name, tuple(hooks))


def _hook(configuration: str, key: str, spec: Mapping[str, Any], identities: Identities) -> Hook:
    broken = ""
    try:
        namespaces = selector_of_object(spec.get("namespaceSelector") or {})
        objects = selector_of_object(spec.get("objectSelector") or {})
    except BadRequest as problem:
        namespaces = objects = ALL_LABELS
        broken = problem.message
    review = next((each for each in spec.get("admissionReviewVersions") or () if each in REVIEW_VERSIONS), "")
    remote = _remote(spec["clientConfig"], identities)
    hook = Hook(
        configuration=configuration,
        name=spec["name"],
        key=key,
        rules=tuple(map(rule_of, spec.get("rules") or ())),
        namespaces=namespaces,
        objects=objects,
        equivalent=spec.get("matchPolicy") != "Exact",
        patient=spec.get("failurePolicy") == "Ignore",
        harmless=spec.get("sideEffects") in _HARMLESS,
        again=spec.get("reinvocationPolicy") == "IfNeeded",
        timeout_s=spec.get("timeoutSeconds") or _TIMEOUT_S,
        review=review,
        remote=remote,
        broken=broken or ("" if review else _UNKNOWN_REVIEWS) or _unusable(remote),
    )
    conditions = spec.get("matchConditions")
    return _with_conditions(hook, conditions) if conditions else hook


def _with_conditions(hook: Hook, given: Sequence[Mapping[str, Any]]) -> Hook:
    """Return the webhook with its match conditions compiled."""
    from orchtw.admission.policies.definitions import conditions_of, names_of

    found = conditions_of(given, namespace=False)
    return msgspec.structs.replace(hook, conditions=found, condition_names=names_of(found))


def _remote(client: Mapping[str, Any], identities: Identities) -> Remote:
    remote = Remote.of_client_config(dict(client))
    service = remote.service
    if service is None:
        return msgspec.structs.replace(remote, credentials=identities.of(urlsplit(remote.url).netloc))
    return msgspec.structs.replace(remote, credentials=identities.of(f"{service.host}:{service.port}"))


def _unusable(remote: Remote) -> str:
    try:
        remote.tls.tls()
    except BadTLS as problem:
        return f"could not get REST client: {problem}"
    return ""
