"""Command line of `orch-store`. Every error is one line on standard error, with exit status 1.

Subcommands import their modules lazily: a backup needs little, a migration most of the server.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from orchtw.commands.files import STDIO, output, source
from orchtw.commands.running import exit_status
from orchtw.commands.store.outcome import Migrated
from orchtw.commands.store.source import FileSource, agreed
from orchtw.errors import ConfigError, StatusError
from orchtw.flags.exit_status import document_exit_status
from orchtw.flags.version import add_version
from orchtw.logs.progress import line_start
from orchtw.naming.naming import Naming
from orchtw.storage.sqlite.errors import sentence
from orchtw.storage.sqlite.snapshot import Snapshot
from orchtw.storage.sqlite.store import FILE

MIB: Final = 1 << 20
KEYS_HELP: Final = "EncryptionConfiguration file with the keys"
VOCABULARY_HELP: Final = "expected vocabulary; used where the store or the export does not record it"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status (`orchtw.flags.exit_status.COMMAND`)."""
    options = command_line().parse_args(arguments)
    return exit_status(lambda reactor: _perform(options, reactor))


async def perform(arguments: Sequence[str], reactor: Any) -> int:
    """Run the command like `main`, on a running reactor."""
    return await _perform(command_line().parse_args(arguments), reactor)


async def _perform(options: argparse.Namespace, reactor: Any) -> int:
    try:
        return await COMMANDS[options.command](options, reactor)
    except ConfigError as error:
        for problem in error.problems:
            complain(problem)
    except StatusError as error:
        complain(error.message)
    except sqlite3.Error as error:
        complain(f"{_store(options)}: {sentence(error)}")
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output is gone: stay silent
    except OSError as error:
        complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
    return 1


def complain(problem: str) -> None:
    """Print one line to standard error."""
    print(f"{line_start(sys.stderr)}orch-store: {' '.join(problem.split())}", file=sys.stderr)


def _store(options: argparse.Namespace) -> Path:
    """Return the path of the store's file."""
    given: Path | None = getattr(options, "file", None)
    folder: Path = options.data_dir
    return given or folder / FILE


def _naming(snapshot: Snapshot, options: argparse.Namespace) -> Naming:
    """Return the naming of a file's vocabulary. Raises ConfigError if --vocabulary contradicts it."""
    return Naming.of(agreed(snapshot.path, snapshot.vocabulary, options.vocabulary))


async def _check(options: argparse.Namespace, reactor: Any) -> int:
    from orchtw.commands.store import check as checks
    from orchtw.commands.store.opening import Opening
    from orchtw.commands.store.values import StoredValues

    if options.etcd_servers:
        from orchtw.commands.store.on_cluster import check

        return await check(options, reactor, complain)
    path = _store(options)
    with closing(Snapshot(path)) as snapshot:
        naming = _naming(snapshot, options)
        wrong = checks.wrong_with_file(path)
        opening = Opening(options.encryption_provider_config, reactor)
        found = await checks.look(FileSource(snapshot), opening, StoredValues(naming))
        print(*checks.file_summary(snapshot, found), sep="\n")
    for problem in (*wrong, *found.wrong):
        complain(problem)
    return 1 if wrong or found.wrong else 0


async def _backup(options: argparse.Namespace, reactor: Any) -> int:
    from orchtw.commands.store import copies

    size = copies.backup(_store(options), options.target)
    print(f"{options.target}: {size / MIB:.1f} MiB")
    return 0


async def _restore(options: argparse.Namespace, reactor: Any) -> int:
    from orchtw.commands.store import copies

    store = _store(options)
    size = copies.restore(options.source, store)
    print(f"{store}: {size / MIB:.1f} MiB")
    return 0


async def _compact(options: argparse.Namespace, reactor: Any) -> int:
    if options.etcd_servers:
        from orchtw.commands.store.on_cluster import compact as compact_cluster

        return await compact_cluster(options, reactor)
    from orchtw.commands.store.compact import compact

    path = _store(options)
    with closing(Snapshot(path)) as snapshot:
        naming = _naming(snapshot, options)
    before, after = compact(path, naming.vocabulary)
    print(f"{path}: {before / MIB:.1f} MiB before, {after / MIB:.1f} MiB now")
    return 0


async def _export(options: argparse.Namespace, reactor: Any) -> int:
    from orchtw.commands.store.export import export
    from orchtw.commands.store.opening import Opening
    from orchtw.commands.store.values import StoredValues

    if options.etcd_servers:
        from orchtw.commands.store.on_cluster import export as export_cluster

        with output(options.target) as file:
            failed = await export_cluster(options, reactor, file, complain)
        return _say_missing(failed, options.target)
    with closing(Snapshot(_store(options))) as snapshot:
        naming = _naming(snapshot, options)
        opening = Opening(options.encryption_provider_config, reactor)
        with output(options.target) as file:
            failed = await export(FileSource(snapshot), opening, StoredValues(naming), file, complain)
    return _say_missing(failed, options.target)


def _say_missing(failed: int, target: str) -> int:
    """Report an incomplete export and rename its file, so that it is not mistaken for a complete one."""
    if failed and target != STDIO:
        partial_target = f"{target}.incomplete"
        os.replace(target, partial_target)
        complain(f"{failed} objects are missing from the output, {partial_target}")
    elif failed:
        complain(f"{failed} objects are missing from the output")
    return 1 if failed else 0


async def _import(options: argparse.Namespace, reactor: Any) -> int:
    from orchtw.commands.store.import_ import import_lines

    if options.etcd_servers:
        from orchtw.commands.store.on_cluster import import_lines as import_cluster

        with source(options.source) as file:
            return await import_cluster(options, reactor, file)
    path = _store(options)
    with source(options.source) as file:
        sealing = options.encryption_provider_config
        count = await import_lines(path, file, options.vocabulary, sealing, reactor)
    print(f"{path}: {count} objects")
    return 0


async def _migrate(options: argparse.Namespace, reactor: Any) -> int:
    if options.kubeconfig is not None:
        from orchtw.commands.store.migrate_online import migrate_online

        result = await migrate_online(options.kubeconfig, options.vocabulary, reactor, complain)
    elif options.etcd_servers:
        from orchtw.commands.store.on_cluster import migrate as migrate_cluster

        result = await migrate_cluster(options, reactor, complain)
    else:
        from orchtw.commands.store.migrate import migrate

        with closing(Snapshot(_store(options))) as snapshot:
            vocabulary = _naming(snapshot, options).vocabulary
        sealing = options.encryption_provider_config
        folder = [f"--data-dir={options.data_dir}"]
        result = await migrate(folder, vocabulary, sealing, reactor, complain)
    return _say(result)


def _say(result: Migrated) -> int:
    print(f"{result.seen} objects, {result.written} of them rewritten")
    if result.failed:
        complain(f"{result.failed} objects could not be rewritten")
    return 1 if result.failed else 0


Command = Callable[[argparse.Namespace, Any], Awaitable[int]]

COMMANDS: Final[Mapping[str, Command]] = {
    "check": _check,
    "backup": _backup,
    "restore": _restore,
    "compact": _compact,
    "export": _export,
    "import": _import,
    "migrate": _migrate,
}


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    folder = argparse.ArgumentParser(add_help=False)
    default = Path("orch-data")
    folder.add_argument("--data-dir", type=Path, default=default, metavar="DIR", help="the server's data folder")
    keys = argparse.ArgumentParser(add_help=False)
    keys.add_argument("--encryption-provider-config", type=Path, metavar="FILE", help=KEYS_HELP)
    cluster = argparse.ArgumentParser(add_help=False)
    cluster.add_argument("--etcd-servers", metavar="URLS", help="URLs of the etcd cluster's members")
    cluster.add_argument("--etcd-prefix", metavar="PREFIX", help="prefix of the keys in etcd")
    for name in ("cafile", "certfile", "keyfile"):
        cluster.add_argument(f"--etcd-{name}", metavar="FILE", help="as the server's flag")
    names = ("", Naming.orch().vocabulary, Naming.kubernetes().vocabulary)
    cluster.add_argument("--vocabulary", choices=names, default="", metavar="NAME", help=VOCABULARY_HELP)
    parser = argparse.ArgumentParser(prog="orch-store", description="Maintains the store of a server.")
    add = parser.add_subparsers(dest="command", required=True).add_parser
    check = add(
        "check",
        parents=[folder, cluster, keys],
        help="verify that the store holds what was written; also while a server runs",
    )
    check.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a backup to check instead of the folder's store"
    )
    backup = add("backup", parents=[folder], help="make a consistent copy; also while a server runs")
    backup.add_argument("target", type=Path, metavar="FILE", help="file for the copy; must not exist")
    restore = add("restore", parents=[folder], help="restore a backup where no store exists")
    restore.add_argument("source", type=Path, metavar="FILE", help="backup to restore")
    add("compact", parents=[folder, cluster], help="drop the history and return free space")
    out = add(
        "export",
        parents=[folder, cluster, keys],
        help="write a line of JSON for each object; also while a server runs",
    )
    out.add_argument(
        "target", nargs="?", default=STDIO, metavar="FILE", help="file to create; - means standard output"
    )
    into = add("import", parents=[folder, cluster, keys], help="fill an empty store from an export")
    into.add_argument("source", nargs="?", default=STDIO, metavar="FILE", help="file to read; - means standard input")
    move = add("migrate", parents=[folder, cluster, keys], help="rewrite objects that are stored in an older form")
    move.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="rewrite through a running server instead of the folder"
    )
    add_version(parser)
    document_exit_status(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
