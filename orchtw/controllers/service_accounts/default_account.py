"""The service account controller: each namespace has an account `default` (reference CTRL-19)."""

from __future__ import annotations

from typing import Final

from orchtw.controllers.controller import ControllerHost
from orchtw.controllers.service_accounts.each_namespace import EachNamespace
from orchtw.wire.objects import Object

DEFAULT: Final = "default"


class ServiceAccountController(EachNamespace):
    """What becomes of the account once it is there is for its namespace to say."""

    name = "serviceaccount"
    account = "service-account-controller"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, "serviceaccounts", DEFAULT)

    def wanted(self, namespace: str) -> Object:
        """See `EachNamespace`."""
        return {"metadata": {"name": DEFAULT, "namespace": namespace}}
