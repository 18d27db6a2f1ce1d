"""Authorizers of `--authorization-config`, which follow their file (reference AUTHZ-40)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from orchtw.authz.authorization_file import FLAG, Entry, read
from orchtw.authz.decision import Authorizer, AuthzHost, Decision, Stands, UserRules
from orchtw.authz.fixed import AlwaysAllow
from orchtw.authz.match_conditions import Conditional
from orchtw.authz.union import AuthorizerUnion
from orchtw.authz.webhook import calling
from orchtw.errors import ConfigError
from orchtw.outbound.followed_file import FollowedFile
from orchtw.outbound.kubeconfig import load
from orchtw.request import RequestInfo, UserInfo
from orchtw.schema.cel.environment import environment

Make = Callable[[str], Authorizer]


class Configured:
    """Union of the authorizers in a file; `load` reads the file. `first` are asked before them."""

    def __init__(self, first: Sequence[Authorizer], load: Callable[[], Sequence[Authorizer]]) -> None:
        self._first = tuple(first)
        self._load = load
        self._current = AuthorizerUnion((*first, *load()))

    def read(self) -> None:
        """Replace the authorizers by those of the file as it is now. Raises ConfigError; nothing changes then."""
        self._current = AuthorizerUnion((*self._first, *self._load()))

    @property
    def allows_all(self) -> bool:
        """Report whether AlwaysAllow is among the authorizers."""
        return any(isinstance(each, AlwaysAllow) for each in self._current.authorizers)

    def authorize(self, user: UserInfo, info: RequestInfo) -> Decision | Awaitable[Decision]:
        """Return the first decision that allows or denies."""
        return self._current.authorize(user, info)

    def rules_for(self, user: UserInfo, namespace: str) -> UserRules:
        """Return the rules of all authorizers together."""
        return self._current.rules_for(user, namespace)

    def lasts(self, user: UserInfo, info: RequestInfo) -> Stands | None:
        """Return what the decision depends on: the file, and what its authorizers say."""
        current = self._current
        found = current.lasts(user, info)
        return None if found is None else (lambda: self._current is current, *found)


def from_file(
    host: AuthzHost, path: Path, first: Sequence[Authorizer], modes: Mapping[str, Callable[[], Authorizer]]
) -> Configured:
    """Return the authorizers of a file, and follow it; `modes` makes those of each type but webhooks.

    An authorizer that has been made stays the same when the file changes. Raises ConfigError.
    """
    known = environment(host.release)
    made: dict[str, Authorizer] = {}

    def authorizer(entry: Entry) -> Authorizer:
        if entry.webhook is not None:
            return _webhook(host, entry)
        if entry.mode not in made:
            made[entry.mode] = modes[entry.mode]()
        return made[entry.mode]

    def authorizers() -> list[Authorizer]:
        return [authorizer(entry) for entry in read(path, known, modes)]

    found = Configured(first, authorizers)
    if host.reloads is not None:
        host.reloads.add(FLAG, found.read)
    followed = FollowedFile(path, FLAG, found.read, host.clock)
    followed.setServiceParent(host.services)  # type: ignore[no-untyped-call]
    return found


def _webhook(host: AuthzHost, entry: Entry) -> Authorizer:
    settings = entry.webhook
    assert settings is not None
    try:
        remote = load(settings.kubeconfig, host.naming, host.clock)
    except ConfigError as error:
        raise ConfigError(f"{FLAG}: {error}") from None
    webhook = calling(
        host,
        remote,
        settings.version,
        (settings.authorized_ttl_s, settings.unauthorized_ttl_s),
        timeout_s=settings.timeout_s,
    )
    return Conditional(webhook, settings.conditions, denies=settings.denies)
