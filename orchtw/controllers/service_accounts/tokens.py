"""The token controller: Secrets of the token type hold a token of their account (reference CTRL-20, CTRL-21)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence

from orchtw.client.informer import Informer
from orchtw.client.interface import Item
from orchtw.controllers.controller import Controller, Host
from orchtw.errors import Conflict, NotFound
from orchtw.objects import Object
from orchtw.rules.options import DeleteOptions

LegacyToken = Callable[[Object, str], str]
"""Makes the token of an account that is to be kept in the Secret of that name."""

_SECRET, _ACCOUNT, _GONE = "secret", "account", "gone"


class TokenController(Controller):
    """Keys are `secret <ns>/<name>`, `account <ns>/<name>` (gone), and `gone <ns>/<account>/<secret>`.

    Without `legacy_token` Secrets get everything but a token.
    """

    name = "serviceaccount-token"
    account = "token-controller"

    def __init__(self, host: Host, concurrency: int, legacy_token: LegacyToken | None, root_ca_pem: str) -> None:
        super().__init__(host, concurrency)
        naming = host.naming
        self._legacy_token = legacy_token
        self._root_ca = root_ca_pem.encode()
        self._type = naming.service_account_token_type
        self._name_annotation = naming.service_account_name_annotation
        self._uid_annotation = naming.service_account_uid_annotation
        self._accounts = self.client.resource("", "v1", "serviceaccounts")
        self._secrets = self.client.resource("", "v1", "secrets")
        self._present = Informer(self.client, self._accounts, host.clock, host.random)
        self._present.handle(self._account_seen)
        self._kept = Informer(self.client, self._secrets, host.clock, host.random)
        self._kept.handle(self._secret_seen)

    @property
    def sources(self) -> Sequence[Informer]:
        """Accounts and Secrets."""
        return (self._present, self._kept)

    def _account_seen(self, old: Item | None, new: Item | None) -> None:
        if new is None and old is not None:
            self.queue.add(f"{_ACCOUNT} {old.key}")

    def _secret_seen(self, old: Item | None, new: Item | None) -> None:
        if new is not None:
            self.queue.add(f"{_SECRET} {new.key}")
        elif old is not None and (account := self._account_of(old.load())):
            self.queue.add(f"{_GONE} {old.namespace}/{account}/{old.name}")

    async def reconcile(self, key: str) -> float | None:
        """Fill a Secret, delete those of an account that is gone, or end the mention of a Secret that is gone."""
        what, _, named = key.partition(" ")
        namespace, name, *rest = named.split("/")
        if what == _SECRET:
            await self._look_at(namespace, name)
        elif what == _ACCOUNT:
            await self._delete_of(namespace, name)
        else:
            await self._forget(namespace, name, rest[0])
        return None

    async def _look_at(self, namespace: str, name: str) -> None:
        item = await self.client.find(self._secrets, namespace, name)
        if item is None or item.owner_metadata().terminating:
            return
        secret = item.load()
        owner = self._account_of(secret)
        if not owner:
            return
        account = await self._find_account(namespace, owner)
        uid = (secret["metadata"].get("annotations") or {}).get(self._uid_annotation, "")
        if account is None or (uid and uid != account["metadata"]["uid"]):
            await self._delete(secret)
        elif (filled := self._filled(secret, account)) is not None:
            await self.client.update(self._secrets, namespace, name, filled)

    def _filled(self, secret: Object, account: Object) -> Object | None:
        """The Secret with all that belongs into it; None: it is complete."""
        meta, uid = secret["metadata"], account["metadata"]["uid"]
        data: dict[str, str] = dict(secret.get("data") or {})
        wanted = {"namespace": meta["namespace"].encode()}
        if self._root_ca:
            wanted["ca.crt"] = self._root_ca
        if not data.get("token") and self._legacy_token is not None:
            wanted["token"] = self._legacy_token(account, meta["name"]).encode()
        changed = {key: text for key, text in wanted.items() if b64decode(data.get(key, "")) != text}
        annotations = meta.get("annotations") or {}
        if not changed and annotations.get(self._uid_annotation) == uid:
            return None
        data |= {key: b64encode(text).decode() for key, text in changed.items()}
        return {
            **secret,
            "metadata": {**meta, "annotations": {**annotations, self._uid_annotation: uid}},
            "data": dict(sorted(data.items())),
        }

    async def _delete_of(self, namespace: str, name: str) -> None:
        """Delete the token Secrets of an account, unless there is one of its name again with their uid."""
        account = await self._find_account(namespace, name)
        listing = await self.client.list(self._secrets, namespace, fields=f"type={self._type}")
        for item in listing.items:
            secret = item.load()
            uid = (secret["metadata"].get("annotations") or {}).get(self._uid_annotation, "")
            same = account is not None and uid in ("", account["metadata"]["uid"])
            if self._account_of(secret) == name and not same:
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

    def _account_of(self, secret: Object) -> str:
        """The account that a Secret is to hold a token of; empty: it is another kind of Secret."""
        if secret.get("type") != self._type:
            return ""
        return str((secret["metadata"].get("annotations") or {}).get(self._name_annotation, ""))
