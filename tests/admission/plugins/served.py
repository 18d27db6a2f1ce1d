"""A whole server that runs one more plugin, with a configuration of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import orjson

from orchtw.wire.objects import Object
from tests.verbs.served import PLUGIN, ServedCase


class PluginCase(ServedCase):
    """`name` is the plugin, `configuration` what it is given. Others that change pods are switched off."""

    more = {"disable_admission_plugins": ("ServiceAccount", "DefaultTolerationSeconds")}  # noqa: RUF012

    name: ClassVar[str]
    configuration: ClassVar[Object | None] = None

    def setUp(self) -> None:
        settings: dict[str, Any] = {"enable_admission_plugins": (PLUGIN, self.name)}
        if self.configuration is not None:
            path = Path(self.mktemp())
            entry = {"name": self.name, "configuration": self.configuration}
            whole = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration"}
            path.write_bytes(orjson.dumps({**whole, "plugins": [entry]}))
            settings["admission_control_config_file"] = path
        self.more = {**self.more, **settings}  # type: ignore[misc]
        super().setUp()

    def refusal(self, method: str, path: str, body: Any = None, code: int = 403) -> str:
        """The text with which a request is refused."""
        answer = self.send(method, path, body)
        self.assertEqual(answer.code, code, answer.body)
        message: str = answer.json["message"]
        return message


def pod(name: str = "p", annotations: Object | None = None, **spec: Any) -> Object:
    """A pod with one container."""
    meta: Object = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
