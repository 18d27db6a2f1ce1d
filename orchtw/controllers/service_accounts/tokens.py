"""Token controller: fills Secrets of the token type with a token of their account (reference CTRL-20 to CTRL-22)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from twisted.internet.task import deferLater

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.client.namespace_end import ends_with_namespace
from orchtw.client.work_queue import TURN_S, Retry
from orchtw.controllers.controller import Controller, ControllerHost, Published
from orchtw.controllers.service_accounts.token_secrets import TokenSecrets
from orchtw.errors import Conflict, Forbidden, NotFound, StatusError
from orchtw.rules.delete_options import DeleteOptions
from orchtw.values.generate_name import generate_name
from orchtw.wire.objects import Object

_SECRET, _ACCOUNT, _WITHOUT_ACCOUNT, _GONE = "secret", "account", "without", "gone"


TOKEN: Final = "token"
"""No two tokens are alike, whatever they say."""


class TokenController(Controller):
    """Controller whose keys are `secret <ns>/<name>`, `account <ns>/<name>`, `without <ns>/<name>` (an account that
    is gone), and `gone <ns>/<account>/<secret>`.

    With `generates` each account gets a Secret automatically, if there is a key to sign its token with.
    """

    name = "serviceaccount-token"
    account = "token-controller"

    def __init__(self, host: ControllerHost, concurrency: int, form: TokenSecrets, *, generates: bool) -> None:
        super().__init__(host, concurrency)
        self._form = form
        self._generates = generates and form.signs
        self._accounts = self.client.resource("", "v1", "serviceaccounts")
        self._secrets = self.client.resource("", "v1", "secrets")
        self._present = Informer(self.client, self._accounts, host.clock, host.random, host.turns)
        self._present.handle(self._account_seen)
        self._kept = Informer(self.client, self._secrets, host.clock, host.random, host.turns)
        self._kept.handle(self._secret_seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Return the informers of accounts and Secrets."""
        return (self._present, self._kept)

    def _account_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None and old is not None:
            self.queue.add(f"{_WITHOUT_ACCOUNT} {old.key}")
        elif new is not None and self._generates:
            self.queue.add(f"{_ACCOUNT} {new.key}")

    def _secret_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None:
            self.queue.add(f"{_SECRET} {new.key}")
        elif old is not None and (account := self._form.account_of(old.load())):
            self.queue.add(f"{_GONE} {old.namespace}/{account}/{old.name}")

    async def reconcile(self, key: str) -> float | None:
        """Fill a Secret, give an account one, delete those of one that is gone, or end the mention of a Secret."""
        what, _, named = key.partition(" ")
        namespace, name, *rest = named.split("/")
        if what == _SECRET:
            return await self._look_at(namespace, name)
        if what == _ACCOUNT:
            await self._give(namespace, name)
        elif what == _WITHOUT_ACCOUNT:
            await self._delete_of(namespace, name)
        else:
            await self._forget(namespace, name, rest[0])
        return None

    async def _look_at(self, namespace: str, name: str) -> float | None:
        item = await self.client.find(self._secrets, namespace, name)
        if item is None or item.owner_metadata().terminating:
            return None
        secret = item.load()
        owner = self._form.account_of(secret)
        if not owner:
            return None
        account = await self._find_account(namespace, owner)
        if account is None or self._form.uid_of(secret) not in ("", account["metadata"]["uid"]):
            await self._delete(secret)
        elif (filled := self._form.filled(secret, account)) is not None:
            data = {each: text for each, text in filled["data"].items() if each != TOKEN}
            wanted = Published(namespace, name, [secret["metadata"]["uid"], data])
            return await self.publish(
                self._secrets, wanted, secret, lambda: self.client.update(self._secrets, namespace, name, filled)
            )
        return None

    async def _give(self, namespace: str, name: str) -> None:
        """Make a Secret for an account that lists none of its own. Retry: the account has changed in the meantime."""
        account = await self._find_account(namespace, name)
        if account is None or account["metadata"].get("deletionTimestamp") or await self._lists_one(account):
            return
        made = self._form.made(account, generate_name(f"{name}-token-", self.host.random))
        try:
            secret = await self.client.create(self._secrets, namespace, made)
        except (Forbidden, NotFound) as error:
            if _tells_of_end(error):
                return
            raise
        listed = [*(account.get("secrets") or []), {"name": secret["metadata"]["name"]}]
        try:
            await self.client.update(self._accounts, namespace, name, {**account, "secrets": listed})
        except (Conflict, NotFound) as error:
            await self._delete(secret)
            raise Retry("the account has changed in the meantime") from error

    async def _lists_one(self, account: Object) -> bool:
        """Report whether one of the Secrets that an account lists is for its own token."""
        meta = account["metadata"]
        for each in account.get("secrets") or ():
            item = await self.client.find(self._secrets, meta["namespace"], each.get("name", ""))
            if item is None:
                continue
            secret = item.load()
            if self._form.account_of(secret) == meta["name"] and self._form.uid_of(secret) in ("", meta["uid"]):
                return True
        return False

    async def _delete_of(self, namespace: str, name: str) -> None:
        """Delete the token Secrets of an account, unless there is one of its name again with their uid."""
        account = await self._find_account(namespace, name)
        listing = await self.client.list(self._secrets, namespace, fields=f"type={self._form.type}")
        clock = self.host.clock
        until = clock.seconds() + TURN_S
        for item in listing.items:
            if clock.seconds() >= until:
                await deferLater(clock, 0)
                until = clock.seconds() + TURN_S
            secret = item.load()
            same = account is not None and self._form.uid_of(secret) in ("", account["metadata"]["uid"])
            if self._form.account_of(secret) == name and not same:
                await self._delete(secret)

    async def _forget(self, namespace: str, name: str, secret: str) -> None:
        """Take a Secret that is gone out of its account's list."""
        account = await self._find_account(namespace, name)
        if account is None or await self.client.find(self._secrets, namespace, secret) is not None:
            return
        listed = account.get("secrets") or []
        kept = [each for each in listed if each.get("name") != secret]
        if len(kept) < len(listed):
            await self.client.update(self._accounts, namespace, name, {**account, "secrets": kept})

    async def _find_account(self, namespace: str, name: str) -> Object | None:
        item = await self.client.find(self._accounts, namespace, name)
        return None if item is None else item.load()

    async def _delete(self, secret: Object) -> None:
        """Delete a Secret as it is now; one that has changed meanwhile comes up again by itself."""
        meta = secret["metadata"]
        options = DeleteOptions(precondition_uid=meta["uid"], precondition_version=meta["resourceVersion"])
        try:
            await self.client.delete(self._secrets, meta["namespace"], meta["name"], options)
        except (NotFound, Conflict):
            return


def _tells_of_end(error: StatusError) -> bool:
    """Report whether an object cannot be created because its namespace terminates or is gone."""
    return isinstance(error, NotFound) or ends_with_namespace(error)
