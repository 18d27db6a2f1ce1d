"""A whole server whose requests may be answered by plans, and users whose rights can be taken away."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchtw.filters.plans import Plans
from orchtw.testing.in_process import TOKENS, ClientAnswer
from orchtw.wire.objects import Object
from tests.verbs.served import DEFAULT, ServedCase

RBAC = "rbac.authorization.orch.io"
READS: Object = {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}
MAPS = f"{DEFAULT}/configmaps"
BOB = "bobs-token"


class PlanCase(ServedCase):
    """The config maps `a` and `b` in namespace default; bob may read them by a cluster role."""

    def setUp(self) -> None:
        super().setUp()
        self.give_tokens(f"{BOB},bob,bob,dev\n")
        self.plans.on = False
        for name in ("a", "b"):
            self.done("POST", MAPS, {"metadata": {"name": name}, "data": {"is": name}})
        self.done("POST", f"/apis/{RBAC}/v1/clusterroles", {"metadata": {"name": "reads"}, "rules": [READS]})
        self.bind("reads", {"kind": "User", "name": "bob", "apiGroup": RBAC})
        self.plans.on = True

    @property
    def plans(self) -> Plans:
        """The plans of the server."""
        return self.server.instance.front.app

    def bind(self, name: str, subject: Object) -> None:
        """Give the cluster role `reads` to a subject."""
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "reads"}
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
        self.done("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)

    def give_tokens(self, more: str) -> None:
        """Have the token file read again, with the administrator's token and more."""
        file = self.server.instance.base.config.authn.token_auth_file
        assert file is not None
        Path(file).write_text(TOKENS + more)
        self.server.instance.base.reloads.run()

    def account_token(self, **bound: str) -> str:
        """Return a token of a new service account that may read config maps; it may be bound to an object."""
        accounts = f"{DEFAULT}/serviceaccounts"
        self.done("POST", accounts, {"metadata": {"name": "bot"}})
        self.bind("bot", {"kind": "ServiceAccount", "name": "bot", "namespace": "default"})
        spec = {"expirationSeconds": 3600, **({"boundObjectRef": bound} if bound else {})}
        given = self.done("POST", f"{accounts}/bot/token", {"spec": spec})
        token: str = given["status"]["token"]
        return token

    def get(self, path: str = f"{MAPS}/a", token: str = BOB, **headers: str) -> ClientAnswer:
        """The answer to a get."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.send("GET", path, headers={"authorization": f"Bearer {token}", **named})

    def planned(self, path: str = f"{MAPS}/a", token: str = BOB, **headers: str) -> ClientAnswer:
        """The answer to a get that a plan has been made for, and that it answers."""
        for _ in range(2):
            self.get(path, token, **headers)
        before = self.plans.answered
        answer = self.get(path, token, **headers)
        self.assertEqual((answer.code, self.plans.answered), (200, before + 1), answer.body)
        return answer

    def metric(self, name: str) -> float:
        """The value of a metric without labels."""
        return float(self.numbers(name)[name])

    def numbers(self, *beginnings: str) -> Mapping[str, Any]:
        """The metrics whose names begin so, but for those of durations, which no two runs share."""
        lines = self.send("GET", "/metrics").body.decode().splitlines()
        shown = (line.rpartition(" ") for line in lines if line.startswith(beginnings))
        return {name: value for name, _, value in shown if "_sum" not in name.partition("{")[0]}
