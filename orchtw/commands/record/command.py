"""Command line of `orch-record`. Every error is one line on standard error, with exit status 1."""

from __future__ import annotations

import argparse
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Final

import orjson
from twisted.internet.defer import CancelledError

from orchtw.commands.files import STDIO, output, source
from orchtw.commands.record.connection import Connection
from orchtw.commands.record.history import ServerHistory
from orchtw.commands.record.pace import ReactorPace
from orchtw.commands.record.terminal import Style, harmless
from orchtw.commands.record.text import difference_lines, record_lines, record_text, table
from orchtw.commands.remote_server import add_options, remote_of
from orchtw.commands.running import exit_status
from orchtw.errors import ConfigError
from orchtw.exports import export_file
from orchtw.exports.client import Params
from orchtw.exports.exporting import export_lines
from orchtw.exports.importing import import_objects
from orchtw.exports.replaying import Replay
from orchtw.exports.writing import ExportWriter
from orchtw.flags.exit_status import COMMAND, document_exit_status
from orchtw.flags.version import add_version
from orchtw.schema.codec.yaml_codec import encode_yaml
from orchtw.wire.objects import Object

LAST: Final = 20
"""Records that `list` shows without a limit of its own."""

INTERRUPTED: Final = 130
"""Exit status after a signal, as of other programs after Ctrl-C."""

EXIT_STATUS: Final = COMMAND | {INTERRUPTED: "interrupted by a signal"}

OBJECT_FILTERS: Final = ("resource", "namespace", "name")
FILTERS: Final = (*OBJECT_FILTERS, "user", "manager", "verb", "type")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status, one of EXIT_STATUS."""
    options = command_line().parse_args(arguments)
    return exit_status(lambda reactor: _perform(options, reactor), interrupted=INTERRUPTED, cancel=True)


async def perform(arguments: Sequence[str], reactor: Any) -> int:
    """Run the command like `main`, on a running reactor."""
    return await _perform(command_line().parse_args(arguments), reactor)


async def _perform(options: argparse.Namespace, reactor: Any) -> int:
    try:
        connection = Connection(remote_of(options, reactor), reactor)
        try:
            return await COMMANDS[options.command](_Work(options, connection, reactor))
        finally:
            await connection.close()
    except ConfigError as error:
        for problem in error.problems:
            complain(problem)
    except CancelledError:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of the output is gone: stay silent
    except OSError as error:
        complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
    return 1


def complain(problem: str) -> None:
    """Print one line to standard error."""
    print(f"orch-record: {harmless(' '.join(problem.split()))}", file=sys.stderr)


class _Work:
    """Options, server and output of one run."""

    def __init__(self, options: argparse.Namespace, connection: Connection, reactor: Any) -> None:
        self.options = options
        self.history = ServerHistory(connection)
        self.writer = ExportWriter(connection)
        self.pace = ReactorPace(reactor)
        self.style = Style.of(sys.stdout, options.color)

    def params(self, names: Iterable[str], **more: object) -> Params:
        """Return query parameters: the options with these names that are given, and others that are not empty."""
        given = {name: getattr(self.options, name, None) for name in names}
        pairs = [(name, value) for name, values in given.items() for value in _several(values)]
        return [*pairs, *((name.rstrip("_"), str(value)) for name, value in more.items() if value not in (None, ""))]

    def say(self, lines: Iterable[str]) -> None:
        """Print lines at once: somebody may be waiting for them."""
        text = "".join(f"{line}\n" for line in lines)
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        sys.stdout.flush()

    async def show(self, values: AsyncIterator[Object], shown: Callable[[Object], Iterable[str]]) -> int:
        """Print values as they come, as JSON if that is asked for; returns how many."""
        count = 0
        async for value in values:
            count += 1
            self.say([orjson.dumps(value).decode()] if self.options.output_format == "json" else shown(value))
        return count


def _several(values: Any) -> Sequence[str]:
    return values if isinstance(values, list) else [str(values)] if values else []


async def _follow(work: _Work) -> int:
    records = work.history.records(work.params((*FILTERS, "since", "limit"), follow=1))
    await work.show(records, lambda record: record_lines(record, work.style))
    raise ConfigError("the server has ended the stream")


async def _list(work: _Work) -> int:
    limit = work.options.limit
    if limit is None and not (work.options.since or work.options.until):
        limit = LAST
    records = work.history.records(work.params((*FILTERS, "since", "until"), limit=limit or None))
    await work.show(records, lambda record: record_lines(record, work.style))
    return 0


async def _show(work: _Work) -> int:
    revision = work.options.revision
    params = work.params((), since=revision - 1, until=revision, objects=1, generation=1)
    params = [*params, *(("type", kind) for kind in export_file.WRITES)]
    if not await work.show(work.history.records(params), lambda record: record_text(record, work.style)):
        raise ConfigError(f"revision {revision} is not recorded")
    return 0


async def _at(work: _Work) -> int:
    options = work.options
    form, named = options.output_format, bool(options.name)
    params = work.params(OBJECT_FILTERS, revision=options.revision)
    states = [state async for state in work.history.states(params)]
    if named and not states:
        raise ConfigError(f"there was no such object at revision {options.revision}")
    if form == "yaml" or (form == "text" and named):
        work.say("---\n".join(encode_yaml(state["object"]).decode() for state in states).splitlines())
    elif form == "json":
        work.say(orjson.dumps(state).decode() for state in states)
    else:
        work.say(table(states))
    return 0


async def _diff(work: _Work) -> int:
    params = work.params(OBJECT_FILTERS, from_=work.options.after, to=work.options.upto)
    await work.show(work.history.differences(params), lambda found: difference_lines(found, work.style))
    return 0


async def _export(work: _Work) -> int:
    with output(work.options.output) as file:
        count = await _write_export(work, file)
    if work.options.output != STDIO:
        work.say([f"{work.options.output}: {count} lines"])
    return 0


async def _write_export(work: _Work, file: BinaryIO) -> int:
    """Write the lines of an export; returns how many there are behind the header."""
    count = -1
    async for value in export_lines(work.history, work.options.since, work.params(OBJECT_FILTERS), complain):
        file.write(export_file.line_of(value))
        count += 1
    return count


async def _import(work: _Work) -> int:
    with source(work.options.file) as file:
        lines = export_file.state_at(export_file.read(file, work.options.file), work.options.at)
    result = await import_objects(lines, work.writer, work.pace, complain)
    work.say([str(result)])
    return 1 if result.failed else 0


async def _replay(work: _Work) -> int:
    with source(work.options.file) as file:
        lines = list(export_file.read(file, work.options.file))
    existing = [line for line in lines if line["type"] == export_file.EXISTING]
    imported = await import_objects(existing, work.writer, work.pace, complain)
    work.say([str(imported)])
    replay = Replay(
        writer=work.writer,
        pace=work.pace,
        speed=work.options.speed,
        users=work.options.user or (),
        show=lambda record: work.say(record_lines(record, work.style)),
        complain=complain,
    )
    replayed = await replay.run(line for line in lines if line["type"] != export_file.EXISTING)
    work.say([str(replayed)])
    return 1 if imported.failed or replayed.failed else 0


COMMANDS: Final[Mapping[str, Callable[[_Work], Awaitable[int]]]] = {
    "follow": _follow,
    "list": _list,
    "show": _show,
    "at": _at,
    "diff": _diff,
    "export": _export,
    "import": _import,
    "replay": _replay,
}


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="orch-record", description="Shows, exports and replays the writes of a server with --enable-history."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, text: str, *, filters: Sequence[str] = (), forms: Sequence[str] = ()) -> Any:
        made = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        _add_filters(made, filters)
        if forms:
            made.add_argument(
                "-o", dest="output_format", choices=forms, default=forms[0], help=f"output format: {_or(forms)}"
            )
        made.add_argument(
            "--color", choices=("auto", "always", "never"), default="auto", help="colours: auto, always or never"
        )
        add_options(made)
        return made.add_argument

    since = "only writes after a revision, a time (RFC 3339) or a duration ago (5m)"
    option = add("follow", "show writes as they happen", filters=FILTERS, forms=("text", "json"))
    option("--since", metavar="WHEN", help=since)
    option("--limit", type=_count, metavar="N", help="begin with the last N writes")
    option = add("list", "show the latest writes", filters=FILTERS, forms=("text", "json"))
    option("--since", metavar="WHEN", help=since)
    option("--until", metavar="WHEN", help="only writes up to a revision, time or duration ago")
    option("--limit", type=_count, metavar="N",
           help=f"only the last N writes; {LAST} unless --since or --until is given, 0 for all")  # fmt: skip
    option = add("show", "show everything about one write", forms=("text", "json"))
    option("revision", type=_count, metavar="REVISION", help="revision of the write")
    text = "show objects as they were at a revision"
    option = add("at", text, filters=OBJECT_FILTERS, forms=("text", "json", "yaml"))
    option("revision", type=_count, metavar="REVISION", help="revision; 0 for the latest")
    option = add("diff", "show the differences between two revisions", filters=OBJECT_FILTERS, forms=("text", "json"))
    option("after", type=_count, metavar="FROM", help="earlier revision")
    option("upto", type=_count, nargs="?", metavar="TO", help="later revision (default: latest)")
    option = add("export", "write objects and writes to a file, as lines of JSON", filters=OBJECT_FILTERS)
    option("--since", type=_count, metavar="REVISION", help="first revision (default: the start of the record)")
    option("--output", default=STDIO, metavar="FILE", help="file to create (default: standard output)")
    option = add("import", "create the objects of an export")
    option("file", metavar="FILE", help="export to read; - for standard input")
    option("--at", type=_count, metavar="REVISION", help="revision of the state to create (default: latest)")
    option = add("replay", "create the objects of an export and replay its writes")
    option("file", metavar="FILE", help="export to read; - for standard input")
    option("--speed", type=_speed, default=1.0, metavar="N", help="replay speed, in recorded seconds per second")
    option("--user", action="append", metavar="NAME", help="only writes of this user; repeatable")
    add_version(parser)
    document_exit_status(parser, EXIT_STATUS)
    return parser


def _add_filters(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    group = parser.add_argument_group("filters, each repeatable")
    options = {
        "resource": (("-r", "--resource"), "plural name, such as pods or deployments.apps"),
        "namespace": (("-n", "--namespace"), "namespace of the object"),
        "name": (("--name",), "name of the object"),
        "user": (("--user",), "user who made the write"),
        "manager": (("--manager",), "field manager of the write"),
        "verb": (("--verb",), "verb of the request, such as create or patch"),
        "type": (("--type",), "ADDED, MODIFIED, DELETED or FAULT"),
    }
    for name in names:
        flags, text = options[name]
        group.add_argument(*flags, action="append", metavar=name.upper(), help=text)


def _or(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def _speed(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value

