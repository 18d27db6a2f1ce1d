"""`orch-envelope`: converts files between protobuf envelopes and JSON or YAML (reference DESIGN-27)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

import msgspec
import orjson

from orchtw.errors import BadRequest
from orchtw.flags.exit_status import document_exit_status
from orchtw.flags.version import add_version
from orchtw.naming.naming import VOCABULARIES, Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.mismatch import MalformedBody
from orchtw.schema.codec.refusals import unrecognized
from orchtw.schema.codec.yaml_codec import decode_yaml, encode_yaml

_STDIN = "-"
_YAML_SUFFIXES = (".yaml", ".yml")
_TYPELESS = ("v1", "WatchEvent")  # the only message whose envelope has no type


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    """Conversion settings: `output` is json, yaml or pb; `kind` and `api_version` are for inputs without them."""

    codecs: Codecs
    output: str
    kind: str
    api_version: str

    def codec(self, api_version: str, kind: str) -> KindCodec:
        """Return the codec of a type, completed from the options. Raises BadRequest for an unknown type."""
        api_version, kind = api_version or self.api_version, kind or self.kind
        if not api_version and not kind:
            api_version, kind = _TYPELESS
        if not kind:
            raise BadRequest("the kind is missing; --kind can give it")
        try:
            return self.codecs.kind(api_version or "v1", kind)
        except KeyError:
            raise BadRequest(f'no kind "{kind}" is registered for version "{api_version}"') from None

    def decode(self, _name: str, body: bytes) -> bytes:
        """Convert an envelope to JSON or YAML."""
        api_version, kind, raw = unwrap(body)
        obj = self.codec(api_version, kind).decode_protobuf(raw)
        if self.output == "yaml":
            return encode_yaml(obj)
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def encode(self, name: str, body: bytes) -> bytes:
        """Convert a JSON or YAML document to an envelope. JSON is tried first unless the file's suffix is of YAML."""
        value = _document(body, is_yaml=name.endswith(_YAML_SUFFIXES))
        if not isinstance(value, dict):
            raise BadRequest("the document is not an object")
        api_version, kind = (value.get(key) or "" for key in ("apiVersion", "kind"))
        if not isinstance(api_version, str) or not isinstance(kind, str):
            raise BadRequest("apiVersion and kind must be strings")
        codec = self.codec(api_version, kind)
        return codec.encode_envelope(codec.normalise(value))


def _document(body: bytes, *, is_yaml: bool) -> object:
    if not is_yaml:
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            if body.lstrip()[:1] == b"{":
                raise BadRequest(f"not JSON: {error}") from None
    try:
        return decode_yaml(body)
    except MalformedBody as error:
        raise unrecognized(body, "", str(error)) from None


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add("files", nargs="*", default=[_STDIN], metavar="FILE", help="input files; none or - means standard input")
    add("--out-dir", type=Path, metavar="DIR", help="folder for the outputs, named after their inputs")
    add("--vocabulary", choices=VOCABULARIES, default=VOCABULARIES[0], help="vocabulary of group and field names")
    add("--kind", default="", help="kind of inputs that do not name one")
    add("--api-version", default="", help="apiVersion of inputs that do not name one")
    parser = argparse.ArgumentParser(prog="orch-envelope", description="Converts API objects between encodings.")
    commands = parser.add_subparsers(dest="command", required=True)
    decode = commands.add_parser("decode", parents=[shared], help="convert envelopes to JSON or YAML")
    decode.add_argument("--output", choices=("json", "yaml"), default="json", help="encoding of the outputs")
    commands.add_parser("encode", parents=[shared], help="convert JSON or YAML to envelopes").set_defaults(
        output="pb"
    )
    add_version(parser)
    document_exit_status(parser)
    return parser


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = command_line()
    arguments = parser.parse_args(argv)
    if arguments.command == "encode" and len(arguments.files) > 1 and arguments.out_dir is None:
        parser.error("several envelopes need --out-dir")
    return arguments


def main(
    argv: Sequence[str] | None = None,
    stdin: BinaryIO | None = None,
    stdout: BinaryIO | None = None,
    stderr: TextIO | None = None,
) -> int:
    """Run the command; returns the exit status: 0, or 1 if an input could not be converted."""
    arguments = _arguments(argv)
    job = _Job(
        codecs=Codecs(Catalogue.load(Naming.of(arguments.vocabulary))),
        output=arguments.output,
        kind=arguments.kind,
        api_version=arguments.api_version,
    )
    convert = job.decode if arguments.command == "decode" else job.encode
    write = _writer(arguments, stdout or sys.stdout.buffer)
    status = 0
    for name in arguments.files:
        try:
            body = (stdin or sys.stdin.buffer).read() if name == _STDIN else Path(name).read_bytes()
            write(name, convert(name, body))
        except (BadRequest, OSError) as error:
            print(f"orch-envelope: {name}: {_line(error)}", file=stderr or sys.stderr)
            status = 1
    return status


def _writer(arguments: argparse.Namespace, stdout: BinaryIO) -> Callable[[str, bytes], None]:
    """Return the writer of outputs: one file each in `--out-dir`, or all to standard output."""
    if arguments.out_dir is None:
        separators = _separators(arguments.output)
        return lambda _name, data: _put(stdout, next(separators) + data)
    folder: Path = arguments.out_dir
    taken: set[Path] = set()

    def write(name: str, data: bytes) -> None:
        path = folder / f"{'stdin' if name == _STDIN else Path(name).stem}.{arguments.output}"
        if path in taken:
            raise OSError(f"{path} would be the output of two inputs")
        taken.add(path)
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    return write


def _put(stdout: BinaryIO, data: bytes) -> None:
    stdout.write(data)
    stdout.flush()


def _separators(output: str) -> Iterator[bytes]:
    yield b""
    while True:
        yield b"---\n" if output == "yaml" else b""


def _line(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())


if __name__ == "__main__":
    sys.exit(main())
