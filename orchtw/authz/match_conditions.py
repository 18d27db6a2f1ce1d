"""Match conditions of authorization webhooks: expressions about the review that is sent (reference AUTHZ-41)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

from orchtw.authz.decision import NO_OPINION, Authorizer, Decision, UserRules
from orchtw.request import RequestInfo, UserInfo
from orchtw.rules.selector_attributes import selector_attributes
from orchtw.schema.cel.checked import Checked
from orchtw.schema.cel.compiler import compiled
from orchtw.schema.cel.environment import Environment, object_type
from orchtw.schema.cel.evaluation import Evaluation, Meter
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.match_conditions import MATCH_STEPS, matched
from orchtw.schema.cel.types import BOOL, DYN, STRING, Type, list_of, map_of

REQUEST: Final = "request"

_ATTRIBUTES: Final = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_PATH: Final = ("path", "verb")
_SELECTORS: Final = ("fieldSelector", "labelSelector")
_REQUIREMENT: Final = object_type(
    "kubernetes.SelectorRequirement", {"key": STRING, "operator": STRING, "values": list_of(STRING)}
)
_SELECTOR: Final = object_type(
    "kubernetes.SelectorAttributes", {"rawSelector": STRING, "requirements": list_of(_REQUIREMENT)}
)
_VARIABLES: Final[Mapping[str, Type]] = {
    REQUEST: object_type(
        "kubernetes.SubjectAccessReviewSpec",
        {
            "user": STRING,
            "uid": STRING,
            "groups": list_of(STRING),
            "extra": map_of(STRING, list_of(STRING)),
            "resourceAttributes": object_type(
                "kubernetes.ResourceAttributes",
                {**dict.fromkeys(_ATTRIBUTES, STRING), **dict.fromkeys(_SELECTORS, _SELECTOR)},
            ),
            "nonResourceAttributes": object_type("kubernetes.NonResourceAttributes", dict.fromkeys(_PATH, STRING)),
        },
    )
}


def condition_of(source: str, environment: Environment) -> Checked:
    """Compile a condition about a request; its fault says why it cannot be used."""
    try:
        code = compiled(source, _VARIABLES, environment)
    except Fault as fault:
        return Checked(source, None, f"compilation failed: {fault.shown(source)}")
    if code.code.type not in (BOOL, DYN):
        return Checked(source, None, "must evaluate to bool")
    return Checked(source, code)


def spec(user: UserInfo, info: RequestInfo) -> dict[str, Any]:
    """Return the review's spec as conditions see it: empty attributes are empty strings."""
    shown: dict[str, Any] = {
        "user": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    if info.is_resource:
        attributes = {name: getattr(info, name) for name in _ATTRIBUTES}
        if info.field_selector or info.label_selector:
            attributes |= selector_attributes(info.field_selector, info.label_selector)
        return {**shown, "resourceAttributes": attributes}
    return {**shown, "nonResourceAttributes": {name: getattr(info, name) for name in _PATH}}


class Conditional:
    """Authorizer that is asked only if all conditions are true.

    `denies`: the request is refused if a condition cannot be evaluated while the others hold, or if the authorizer
    cannot be asked. Without it the next authorizer is asked (reference AUTHZ-41).
    """

    def __init__(self, authorizer: Authorizer, conditions: Sequence[Checked], *, denies: bool) -> None:
        self._authorizer = authorizer
        self._conditions = tuple(conditions)
        self._denies = denies

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Return the decision, at once if no call is needed for it."""
        if self._conditions:
            unmet = self._unmet(spec(user, info))
            if unmet is not None:
                return unmet
        found = self._authorizer.authorize(user, info)
        return self._settled(found) if isinstance(found, Decision) else self._later(found)

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules of the authorizer."""
        return self._authorizer.rules_for(user, namespace)

    async def _later(self, waiting: Awaitable[Decision]) -> Decision:
        return self._settled(await waiting)

    def _settled(self, found: Decision) -> Decision:
        """Return the decision; an authorizer that could not be asked has no opinion, and an error."""
        if found.allowed is None and found.error and self._denies:
            return Decision(False, found.reason, found.error)
        return found

    def _unmet(self, given: dict[str, Any]) -> Decision | None:
        """Return the decision without asking; None: all conditions are true."""
        found = matched(self._conditions, Evaluation({REQUEST: given}, {}, MATCH_STEPS, Meter()))
        if found.met is None:
            return Decision(False if self._denies else None, error=found.error)
        return None if found.met else NO_OPINION
