"""`python -m tests.stores`: keeps a store of this version under `tests/fixtures/stores`, for every later one to open.

There is one for each vocabulary, with the objects that it held, by path, as the version answered them. Versions are
kept when they are released; to run it again for the same version replaces its stores.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from twisted.internet import reactor
from twisted.internet.task import react

from orchtw import __version__
from orchtw.testing.in_process import InProcessServer

FOLDER: Final = Path(__file__).parent / "fixtures" / "stores"
STORE: Final = "store.sqlite"
VOCABULARIES: Final = ("kubernetes", "orch")
APPLY: Final = "application/apply-patch+yaml"


def files(version: str, vocabulary: str) -> tuple[Path, Path]:
    """Return the files of the store and of its objects."""
    return FOLDER / f"{version}-{vocabulary}.sqlite.gz", FOLDER / f"{version}-{vocabulary}.json"


def kept() -> Iterator[tuple[str, str]]:
    """Yield version and vocabulary of each store that is kept."""
    for each in sorted(FOLDER.glob("*.sqlite.gz")):
        version, _, vocabulary = each.name.removesuffix(".sqlite.gz").rpartition("-")
        yield version, vocabulary


def _pod_template(image: str) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": "kept"}},
        "spec": {"containers": [{"name": "main", "image": image, "ports": [{"containerPort": 80}]}]},
    }


def objects() -> Mapping[str, Mapping[str, Any]]:
    """Return what the store holds, by path: kinds with and without a version of their own, and a deleted one."""
    default = "/api/v1/namespaces/default"
    definition = {
        "metadata": {"name": "kepts.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "kepts", "singular": "kept", "kind": "Kept", "listKind": "KeptList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"size": {"type": "integer", "default": 3}, "name": {"type": "string"}},
                        }
                    },
                }
            ],
        },
    }
    workload = {"selector": {"matchLabels": {"app": "kept"}}, "template": _pod_template("kept:1")}
    return {
        f"{default}/configmaps/kept": {"data": {"text": "grüße"}, "binaryData": {"bytes": "AAEC"}},
        f"{default}/configmaps/ending": {"metadata": {"finalizers": ["example.com/held"]}},
        f"{default}/secrets/kept": {"data": {"password": "aHVudGVyMg=="}},
        f"{default}/services/kept": {"spec": {"selector": {"app": "kept"}, "ports": [{"port": 80}]}},
        f"{default}/pods/kept": _pod_template("kept:1"),
        "/apis/apps/v1/namespaces/default/deployments/kept": {"spec": {"replicas": 2, **workload}},
        "/apis/batch/v1/namespaces/default/cronjobs/kept": {
            "spec": {
                "schedule": "*/5 * * * *",
                "jobTemplate": {"spec": {"template": {"spec": {**_pod_template("kept:1")["spec"],
                                                               "restartPolicy": "Never"}}}},
            }
        },
        "/apis/apiextensions.NAMES/v1/customresourcedefinitions/kepts.example.com": definition,
        "/apis/example.com/v1/namespaces/default/kepts/kept": {
            "apiVersion": "example.com/v1", "kind": "Kept", "name": "one",
        },
    }  # fmt: skip


async def fill(server: InProcessServer) -> dict[str, Any]:
    """Create the objects, change one by apply, begin to delete another; returns all by path, as they are answered."""
    found: dict[str, Any] = {}
    for template, content in objects().items():
        path = template.replace("apiextensions.NAMES", server.naming.group("apiextensions.orch.io"))
        collection, _, name = path.rpartition("/")
        meta = {"name": name, **content.get("metadata", {})}
        created = await server.request("POST", collection, {**content, "metadata": meta})
        assert created.code == 201, created.body
        found[path] = created.json
        if "definitions" in collection:
            await _established(server, path)
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}, "data": {"applied": "yes"}}
    path = "/api/v1/namespaces/default/configmaps"
    await server.request("PATCH", f"{path}/kept?fieldManager=owner", applied, {"content-type": APPLY})
    await server.request("DELETE", f"{path}/ending")
    return {path: (await server.request("GET", path)).json for path in found}


async def _established(server: InProcessServer, path: str) -> None:
    """Return when the kind that a definition adds is served."""
    watch = await server.watch(f"{path.rpartition('/')[0]}?watch=1&resourceVersion=0")
    while True:
        conditions = (await watch.next())["object"].get("status", {}).get("conditions") or ()
        if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            watch.close()
            return


async def _keep(vocabulary: str) -> None:
    """Make the store of one vocabulary, and keep it."""
    with tempfile.TemporaryDirectory() as folder:
        server = InProcessServer(reactor, folder, vocabulary=vocabulary)
        await server.start()
        try:
            found = await fill(server)
        finally:
            await server.stop()
        store, answers = files(__version__, vocabulary)
        store.write_bytes(gzip.compress(Path(folder, STORE).read_bytes(), mtime=0))
    answers.write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(f"{store.name}: {store.stat().st_size} bytes")


async def main(clock: object) -> None:
    """Keep a store of each vocabulary."""
    FOLDER.mkdir(exist_ok=True)
    for vocabulary in VOCABULARIES:
        await _keep(vocabulary)


if __name__ == "__main__":
    react(main)
