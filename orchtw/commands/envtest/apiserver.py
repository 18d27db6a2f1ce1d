"""Drop-in `kube-apiserver`: this server under Kubernetes' names, on the store of the imitated `etcd`
(reference CLIENT-16).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from orchtw.commands.envtest import store_place
from orchtw.commands.envtest.arguments import BadCommandLine, asks_for_help, asks_for_version, take
from orchtw.commands.envtest.ending import end_with_parent, leave_soon

STORE: Final = ("--storage-backend=sqlite",)
"""Flags of the store in the imitated etcd's folder, where a restarted server finds it again."""

CONTROLLERS: Final = "--controllers=garbagecollector,namespace,pv-protection,pvc-protection"
"""Flag of the controllers that remove what is deleted.

envtest runs none, and suites count on the absence of the others: a namespace has no ServiceAccount but those that a
test makes.
"""

GRACE: Final = "--namespace-deletion-grace-period=1s"
"""Flag of the time in which suites can finalize a deleted namespace themselves, undisturbed: they do so at once."""

FOLDER: Final = "orchtw"
"""Name of the server's data folder, inside that of etcd."""

_HELP: Final = """\
Usage:
  kube-apiserver [flags]

orchtw under Kubernetes' names, for tests. It takes the flags of `orch-apiserver`, with these differences:

      --etcd-servers strings            URLs of etcd. The imitation beside this program names the folder of the
                                        embedded store; a real etcd is used as one.
      --vocabulary string               Vocabulary to serve under (default kubernetes)

Insecure serving, which Kubernetes 1.24 no longer has, is refused. All flags: orch-apiserver --help
"""
# The line of a flag in the help makes envtest pass it: no line may begin with --insecure-port.

_OWN: Final = ("etcd-servers", "insecure-port", "insecure-bind-address")

_NOT_SECURE: Final = (
    "--insecure-port={port}: plain HTTP is not served, as Kubernetes 1.24 no longer does: use controller-runtime 0.9 "
    "or newer, whose envtest talks to the secure port"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the server until a signal ends it; returns the exit status of a start that fails."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if asks_for_help(given):
        print(_HELP, end="")
        return 0
    if asks_for_version(given):
        from orchtw.naming.naming import Naming

        print(f"Kubernetes {Naming.of('kubernetes').git_version}")
        return 0
    end_with_parent()
    try:
        flags = server_flags(given)
    except BadCommandLine as problem:
        print(f"kube-apiserver: {problem}", file=sys.stderr)
        return 1
    from twisted.internet import reactor as installed

    from orchtw.assembly.foreground import run_in_foreground

    reactor: Any = installed
    reactor.addSystemEventTrigger("before", "shutdown", leave_soon)
    run_in_foreground(flags)
    return 0


def server_flags(arguments: Sequence[str]) -> list[str]:
    """Return the flags of this server for a command line of `kube-apiserver`. Raises BadCommandLine."""
    own, others = take(arguments, _OWN)
    port = own.get("insecure-port", "0")
    if port != "0":
        raise BadCommandLine(_NOT_SECURE.format(port=port))
    servers = [url.strip() for url in own.get("etcd-servers", "").split(",") if url.strip()]
    if not servers:
        raise BadCommandLine("--etcd-servers must be specified")
    chosen = "controllers" in take(others, ("controllers",))[0]  # lists of several flags would be joined
    # In this order: what the command line says itself comes last, and counts.
    return ["--vocabulary=kubernetes", GRACE, *([] if chosen else [CONTROLLERS]), *_store(servers, others), *others]


def _store(servers: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the flags of the store behind the URLs, and of the folder for keys. Raises BadCommandLine."""
    try:
        place = store_place.ask(servers[0])
    except store_place.NoEtcd as problem:
        raise BadCommandLine(f"--etcd-servers: {problem}") from None
    if place is not None:
        unsafe = ["--unsafe-no-fsync"] if place.unsafe_no_fsync else []
        return [*STORE, *unsafe, f"--data-dir={Path(place.folder) / FOLDER}"]
    etcd = f"--etcd-servers={','.join(servers)}"
    cert_dir = take(others, ("cert-dir",))[0].get("cert-dir")
    # A real etcd has no folder for the keys that are made at the start; envtest removes this one at the end.
    return [etcd, f"--data-dir={Path(cert_dir) / FOLDER}"] if cert_dir else [etcd]


if __name__ == "__main__":
    sys.exit(main())
