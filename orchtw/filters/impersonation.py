"""User impersonation by the Impersonate- headers (reference AUTHN-40)."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any

import msgspec

from orchtw.authn.method import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED
from orchtw.authz.decision import Authorizer, Decision
from orchtw.authz.refusal import forbidden
from orchtw.filters.chain import Proceed
from orchtw.filters.plain_errors import internal_server_error
from orchtw.filters.plan import LEFT_OUT, NOTHING, Part, Short
from orchtw.naming.naming import Naming
from orchtw.request import Request, RequestInfo, Response, UserInfo, utf8_text
from orchtw.rules.front_proxy import unescaped_key
from orchtw.values.names import dns_label, dns_subdomain

PREFIX = "impersonate-"
EXTRA = "impersonate-extra-"
SERVICE_ACCOUNT = "system:serviceaccount:"
SERVICE_ACCOUNTS = "system:serviceaccounts"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """User, groups, extra values and uid of the impersonation headers."""

    user: str
    groups: tuple[str, ...]
    uid: str
    extra: dict[str, tuple[str, ...]]


class ImpersonationStage:
    """Stage that replaces `request.user` if the requester may impersonate the user and each of its attributes.

    `request.authenticated` remains the requester.
    """

    def __init__(self, authorizer: Authorizer, naming: Naming) -> None:
        self._authorizer = authorizer
        self._group = naming.authentication_group

    def handle(self, request: Request, proceed: Proceed) -> Coroutine[Any, Any, Response]:
        """Impersonate and proceed; groups, uid or extra without a user are a 500. Raises Forbidden (403)."""
        if not _impersonates(request):
            return proceed(request)
        wanted = _wanted(request)
        if wanted.user:
            return self._impersonate(request, wanted, proceed)
        if wanted.groups or wanted.uid or wanted.extra:
            return self.refuse(request, wanted)
        return proceed(request)

    def plan(self, request: Request) -> Part | None:
        """Offer nothing to those who act as others."""
        return None if _impersonates(request) else NOTHING

    def shorten(self, request: Request) -> Short | None:
        """Offer nothing to those who act as others."""
        return None if _impersonates(request) else LEFT_OUT

    async def refuse(self, request: Request, wanted: Wanted) -> Response:
        """Answer groups, uid or extra values without a user (reference AUTHN-40)."""
        return internal_server_error(request, self._nameless(wanted))

    def _nameless(self, wanted: Wanted) -> str:
        """Format the error for attributes without a user; object references are as in Go (reference AUTHN-40)."""
        api = f"{self._group}/v1"
        parts = [_reference("Group", group) for group in wanted.groups]
        for key, values in wanted.extra.items():
            parts += [_reference("UserExtra", value, api, key) for value in values]
        if wanted.uid:
            parts.append(_reference("UID", wanted.uid, api))
        return f"requested [{' '.join(parts)}] without impersonating a user"

    async def _impersonate(self, request: Request, wanted: Wanted, proceed: Proceed) -> Response:
        request.user = await self.impersonated(request, wanted)
        request.headers = {name: text for name, text in request.headers.items() if not name.startswith(PREFIX)}
        return await proceed(request)

    async def impersonated(self, request: Request, wanted: Wanted) -> UserInfo:
        """Return the user as whom the request acts. Raises Forbidden (403)."""
        assert request.user is not None
        for part in self._parts(wanted):
            await self.check(request.user, part)
        return user_of(wanted)

    def _parts(self, wanted: Wanted) -> Iterator[RequestInfo]:
        """Yield the requests to authorize: impersonation of the user, each group, each extra value and the uid."""
        if (account := account_of(wanted.user)) is not None:
            yield asked("serviceaccounts", account[1], namespace=account[0])
        else:
            yield asked("users", wanted.user)
        for group in wanted.groups:
            yield asked("groups", group)
        for key, values in wanted.extra.items():
            for value in values:
                yield asked("userextras", value, group=self._group, version="v1", subresource=key)
        if wanted.uid:
            yield asked("uids", wanted.uid, group=self._group, version="v1")

    async def check(self, user: UserInfo, part: RequestInfo) -> None:
        """Raise Forbidden (403) unless the user may make this request."""
        decision = self._authorizer.authorize(user, part)
        if not isinstance(decision, Decision):
            decision = await decision
        if not decision.allowed:
            raise forbidden(user, part, decision.why)


def _impersonates(request: Request) -> bool:
    return any(name.startswith(PREFIX) for name in request.headers)


def _wanted(request: Request) -> Wanted:
    """Parse the headers. Each header line is one value, even if it contains commas (reference AUTHN-40)."""
    extra: dict[str, tuple[str, ...]] = {}
    for name in request.headers:
        if name.startswith(EXTRA):
            key = unescaped_key(name.removeprefix(EXTRA))
            extra[key] = (*extra.get(key, ()), *_values(request, name))
    return Wanted(
        user=next(iter(_values(request, "impersonate-user")), ""),
        groups=_values(request, "impersonate-group"),
        uid=next(iter(_values(request, "impersonate-uid")), ""),
        extra=extra,
    )


def _values(request: Request, header: str) -> tuple[str, ...]:
    return tuple(utf8_text(line) for line in request.lines(header))


def account_of(user: str) -> tuple[str, str] | None:
    """Return namespace and name of the service account of a user name; None for any other user."""
    if not user.startswith(SERVICE_ACCOUNT):
        return None
    namespace, colon, name = user.removeprefix(SERVICE_ACCOUNT).partition(":")
    return (namespace, name) if colon and not dns_label(namespace) and not dns_subdomain(name) else None


def asked(
    resource: str,
    name: str,
    *,
    verb: str = "impersonate",
    namespace: str = "",
    group: str = "",
    version: str = "",
    subresource: str = "",
) -> RequestInfo:
    """Return the request to authorize for one part of an impersonation."""
    return RequestInfo(
        is_resource=True,
        verb=verb,
        path="",
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        subresource=subresource,
        name=name,
    )


def user_of(wanted: Wanted) -> UserInfo:
    """Return the impersonated user with its implied groups (reference AUTHN-42)."""
    groups = wanted.groups
    if not groups and (account := account_of(wanted.user)) is not None:
        groups = (SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{account[0]}")
    if wanted.user == ANONYMOUS.name:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return UserInfo(name=wanted.user, uid=wanted.uid, groups=groups, extra=wanted.extra)


def _reference(kind: str, name: str, api_version: str = "", field_path: str = "") -> str:
    """Format an object reference as Go's %v: kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath."""
    return "{" + " ".join((kind, "", name, "", api_version, "", field_path)) + "}"
