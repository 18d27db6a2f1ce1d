"""Audiences of bearer tokens, which must intersect those of this API (reference AUTHN-7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from orchtw.authn.method import AuthnHost, ShownToken, TokenMethod
from orchtw.authn.validity import LastingPlainTokens, Validity
from orchtw.request import UserInfo

Options = TypeVar("Options")
"""Configuration of a method: options, or the values of a plugin's flags."""


class PlainTokens(Protocol):
    """Source of bearer tokens that are valid for this API only: see `ForThisAPI`."""

    def find(self, token: str) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user, or None if the token is not this source's.

        Raises Unauthorized (401) as `TokenMethod.find` does.
        """


class ForThisAPI:
    """Token method over a source without audiences: its tokens are valid for this API's (reference AUTHN-7)."""

    def __init__(self, source: PlainTokens, audiences: Sequence[str]) -> None:
        self.source = source
        self._audiences = tuple(audiences)

    def find(self, shown: ShownToken) -> UserInfo | None | Awaitable[UserInfo | None]:
        """Return the token's user; None also if none of the requested audiences is this API's."""
        if not shown.own:
            return None
        shown.accepted = common(self._audiences, shown.audiences)
        return self.source.find(shown.token)

    def lasts(self, shown: ShownToken) -> Validity | None:
        """Return what the source says of tokens meant for this API, see `LastingTokens`."""
        source = self.source
        return source.lasts(shown.token) if isinstance(source, LastingPlainTokens) else None


def plain(
    make: Callable[[AuthnHost, Options], PlainTokens | None],
) -> Callable[[AuthnHost, Options], TokenMethod | None]:
    """Turn the factory of a source without audiences into that of a token method."""

    def made(host: AuthnHost, options: Options) -> TokenMethod | None:
        source = make(host, options)
        return None if source is None else ForThisAPI(source, host.accounts.audiences)

    return made


def common(these: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return those of `these` that are also in `others`, in the order of `these`."""
    if these == others:
        return tuple(these)
    wanted = frozenset(others)
    return tuple(each for each in these if each in wanted)
