"""Content of token Secrets (reference CTRL-20)."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable

from orchtw.naming.naming import Naming
from orchtw.wire.objects import Object

LegacyToken = Callable[[Object, str], str]
"""Makes the token of an account for the Secret of that name."""


class TokenSecrets:
    """Contents of Secrets: without `legacy_token` they lack the token, without `root_ca_pem` the authorities."""

    def __init__(self, naming: Naming, legacy_token: LegacyToken | None, root_ca_pem: str) -> None:
        self.type = naming.service_account_token_type
        self._legacy_token = legacy_token
        self._root_ca = root_ca_pem.encode()
        self._name_annotation = naming.service_account_name_annotation
        self._uid_annotation = naming.service_account_uid_annotation

    @property
    def signs(self) -> bool:
        """Report whether there is a key to sign tokens with."""
        return self._legacy_token is not None

    def account_of(self, secret: Object) -> str:
        """Return the account whose token a Secret is to hold; empty: it is another kind of Secret."""
        if secret.get("type") != self.type:
            return ""
        return str((secret["metadata"].get("annotations") or {}).get(self._name_annotation, ""))

    def uid_of(self, secret: Object) -> str:
        """Return the uid of the account for which the Secret was filled or is reserved; empty: any."""
        return str((secret["metadata"].get("annotations") or {}).get(self._uid_annotation, ""))

    def made(self, account: Object, name: str) -> Object:
        """Return a new, complete Secret for an account."""
        owner = account["metadata"]
        annotations = {self._name_annotation: owner["name"]}
        meta = {"name": name, "namespace": owner["namespace"], "annotations": annotations}
        secret = {"metadata": meta, "type": self.type}
        return self.filled(secret, account) or secret

    def filled(self, secret: Object, account: Object) -> Object | None:
        """Return the Secret with everything filled in; None: it is complete."""
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
