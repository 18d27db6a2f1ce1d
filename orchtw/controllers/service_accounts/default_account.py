"""Service account controller: keeps an account `default` in each namespace (reference CTRL-19)."""

from __future__ import annotations

from typing import Final

from orchtw.controllers.controller import ControllerHost
from orchtw.controllers.service_accounts.each_namespace import EachNamespace
from orchtw.wire.objects import Object

DEFAULT: Final = "default"


class ServiceAccountController(EachNamespace):
    """Creates the default account of each namespace, and leaves existing ones alone."""

    name = "serviceaccount"
    account = "service-account-controller"

    def __init__(self, host: ControllerHost) -> None:
        super().__init__(host, "serviceaccounts", DEFAULT)

    def wanted(self, namespace: str) -> Object:
        """Return the default account of a namespace."""
        return {"metadata": {"name": DEFAULT, "namespace": namespace}}
