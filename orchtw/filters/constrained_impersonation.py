"""Impersonation in modes that need rights of their own, for what is done in them too (reference AUTHN-66)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from orchtw.authz.decision import Authorizer
from orchtw.authz.refusal import forbidden
from orchtw.errors import BadRequest, Forbidden
from orchtw.filters.impersonation import ImpersonationStage, Wanted, account_of, asked, user_of
from orchtw.naming.naming import Naming
from orchtw.request import Request, RequestInfo, Response, UserInfo
from orchtw.values.causes import go_quote
from orchtw.values.names import dns_subdomain

NODE: Final = "system:node:"
NODES: Final = "system:nodes"
MASTERS: Final = "system:masters"
MANY: Final = 4
"""Number of groups, or of extra values, from which on a right to all of them is asked for first."""

_PATH: Final = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path: Final = re.compile(_PATH).fullmatch


class Mode(msgspec.Struct, frozen=True):
    """A mode: its name, and the test on a wanted user and the requester that says whether it applies."""

    name: str
    applies: Callable[[Wanted, UserInfo], bool]


class ConstrainedImpersonationStage(ImpersonationStage):
    """Stage that tries each mode that applies, and then the right to impersonate at all.

    The first refusal is the answer if none allows it.
    """

    def __init__(self, authorizer: Authorizer, naming: Naming) -> None:
        super().__init__(authorizer, naming)
        self._own_group = naming.authentication_group
        self._node_name = naming.translate("authentication.orch.io/node-name")
        self._keys = f"{self._node_name.removesuffix('node-name')}associated-node-keys"
        self._associated = Mode("associated-node", self._is_of_requester)
        self._modes = (
            self._associated,
            Mode("arbitrary-node", lambda wanted, _: _bare(wanted) and node_of(wanted.user) is not None),
            Mode("serviceaccount", lambda wanted, _: _bare(wanted) and account_of(wanted.user) is not None),
            Mode("user-info", lambda wanted, _: node_of(wanted.user) is None and account_of(wanted.user) is None),
        )

    async def refuse(self, request: Request, wanted: Wanted) -> Response:
        """Raise BadRequest (400) for groups, uid or extra values without a user."""
        raise BadRequest(f"requested {_go_user(wanted)} without impersonating a user name")

    async def impersonated(self, request: Request, wanted: Wanted) -> UserInfo:
        """Return the user as whom the request acts. Raises Forbidden (403)."""
        requester, info = request.user, request.info
        assert requester is not None and info is not None
        first: Forbidden | None = None
        for mode in self._modes:
            if not mode.applies(wanted, requester):
                continue
            try:
                return await self._in_mode(mode, requester, info, wanted)
            except Forbidden as error:
                first = first or error
        try:
            return await super().impersonated(request, wanted)
        except Forbidden as error:
            raise first or error from None

    def _is_of_requester(self, wanted: Wanted, requester: UserInfo) -> bool:
        """Report whether the requester is a service account on the wanted node."""
        node = node_of(wanted.user)
        runs_on = requester.extra.get(self._node_name, ())
        if not _bare(wanted) or node is None or account_of(requester.name) is None:
            return False
        return tuple(runs_on) == (node,)

    async def _in_mode(self, mode: Mode, requester: UserInfo, info: RequestInfo, wanted: Wanted) -> UserInfo:
        """Return the user if the mode allows this request as them. Raises Forbidden (403)."""
        if mode is self._associated:  # decided alike on every node
            keys = tuple(sorted(requester.extra))
            requester = msgspec.structs.replace(requester, extra={self._keys: keys})
        verb = f"impersonate-on:{mode.name}:{info.verb}"
        await self.check(requester, msgspec.structs.replace(info, verb=verb))
        verb = f"impersonate:{mode.name}"
        await self.check(requester, self._named(mode, wanted, verb))
        if wanted.uid:
            await self.check(requester, self._part("uids", wanted.uid, verb))
        await self._check_groups(requester, wanted.groups, verb)
        await self._check_extra(requester, wanted.extra, verb)
        user = user_of(wanted)
        if node_of(wanted.user) is not None:
            return msgspec.structs.replace(user, groups=(NODES, *user.groups))
        return user

    def _part(self, resource: str, name: str, verb: str, namespace: str = "", subresource: str = "") -> RequestInfo:
        return asked(
            resource,
            name,
            verb=verb,
            group=self._own_group,
            version="v1",
            namespace=namespace,
            subresource=subresource,
        )

    def _named(self, mode: Mode, wanted: Wanted, verb: str) -> RequestInfo:
        """Return the request to impersonate the node, service account or user itself."""
        if (node := node_of(wanted.user)) is not None:
            return self._part("nodes", "*" if mode is self._associated else node, verb)
        if (account := account_of(wanted.user)) is not None:
            return self._part("serviceaccounts", account[1], verb, namespace=account[0])
        return self._part("users", wanted.user, verb)

    async def _check_groups(self, requester: UserInfo, groups: tuple[str, ...], verb: str) -> None:
        if "" in groups:
            why = "impersonating the empty string group is not allowed"
            raise forbidden(requester, self._part("groups", "", verb), why)
        if MASTERS in groups:
            why = f"impersonating the {MASTERS} group is not allowed"
            raise forbidden(requester, self._part("groups", MASTERS, verb), why)
        if len(groups) >= MANY and await self._allows(requester, self._part("groups", "*", verb)):
            return
        for group in groups:
            await self.check(requester, self._part("groups", group, verb))

    async def _check_extra(self, requester: UserInfo, extra: Mapping[str, tuple[str, ...]], verb: str) -> None:
        why = next(_odd_extra(extra), "")
        if why:
            raise forbidden(requester, self._part("userextras", "", verb), why)
        count = sum(map(len, extra.values()))
        every = self._part("userextras", "*", verb, subresource="*")
        if max(count, len(extra)) >= MANY and await self._allows(requester, every):
            return
        for key, values in extra.items():
            for value in values:
                await self.check(requester, self._part("userextras", value, verb, subresource=key))

    async def _allows(self, requester: UserInfo, part: RequestInfo) -> bool:
        try:
            await self.check(requester, part)
        except Forbidden:
            return False
        return True


def node_of(user: str) -> str | None:
    """Return the name of the node of a user name; None for any other user."""
    name = user.removeprefix(NODE)
    return name if name != user and not dns_subdomain(name) else None


def _bare(wanted: Wanted) -> bool:
    """Report whether only a user name is wanted."""
    return not (wanted.groups or wanted.uid or wanted.extra)


def _odd_extra(extra: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield why an extra value may not be had in a mode; all keys are in lower case."""
    for key, values in extra.items():
        if not key:
            yield "impersonating the empty string key in extra is not allowed"
        elif why := _key_error(key):
            yield f"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {why}"
        elif not values:
            yield "impersonating empty values in extra is not allowed"
        elif "" in values:
            yield "impersonating the empty string value in extra is not allowed"


def _key_error(key: str) -> str:
    """Return the wrong part of a key and what is wrong with it; empty: nothing."""
    domain, slash, path = key.partition("/")
    if not (domain and slash and path):
        return f'{go_quote(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
    if errors := dns_subdomain(domain):
        return f"{go_quote(domain)}: {errors[0]}"
    if not _is_path(path):
        return f"{go_quote(path)}: Invalid path (regex used for validation is '{_PATH}')"
    return ""


def _go_user(wanted: Wanted) -> str:
    """Format a user without a name as Go's %#v."""
    groups = f"[]string{{{_quoted(wanted.groups)}}}" if wanted.groups else "[]string(nil)"
    extra = "map[string][]string(nil)"
    if wanted.extra:
        entries = (f"{go_quote(key)}:[]string{{{_quoted(values)}}}" for key, values in sorted(wanted.extra.items()))
        extra = f"map[string][]string{{{', '.join(entries)}}}"
    return f'&user.DefaultInfo{{Name:"", UID:{go_quote(wanted.uid)}, Groups:{groups}, Extra:{extra}}}'


def _quoted(texts: tuple[str, ...]) -> str:
    return ", ".join(map(go_quote, texts))
