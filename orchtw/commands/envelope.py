"""`orch-envelope`: Protobuf envelopes to JSON or YAML and back, for people with files (reference DESIGN-27)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

import attrs
import orjson

from orchtw.errors import BadRequest
from orchtw.naming.names import VOCABULARIES, Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs, KindCodec
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.yaml_codec import decode_yaml, encode_yaml

_STDIN = "-"
_YAML_SUFFIXES = (".yaml", ".yml")
_TYPELESS = ("v1", "WatchEvent")  # the one message that travels in an envelope without a type


@attrs.frozen(kw_only=True)
class _Job:
    """Conversion of each input: `convert` returns the output's bytes, `suffix` is the ending of its file name."""

    codecs: Codecs
    output: str
    kind: str
    api_version: str

    def codec(self, api_version: str, kind: str) -> KindCodec:
        """The codec of a document's type, or of what the options say where it has none."""
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
        """An envelope as JSON or YAML."""
        api_version, kind, raw = unwrap(body)
        obj = self.codec(api_version, kind).decode_protobuf(raw)
        if self.output == "yaml":
            return encode_yaml(obj)
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def encode(self, name: str, body: bytes) -> bytes:
        """A JSON or YAML document as envelope. JSON is tried first unless the name says YAML."""
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
    return decode_yaml(body)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    shared = argparse.ArgumentParser(add_help=False)
    add = shared.add_argument
    add("files", nargs="*", default=[_STDIN], metavar="FILE", help="inputs; none or - is standard input")
    add("--out-dir", type=Path, metavar="DIR", help="write each output there, under its input's base name")
    add("--vocabulary", choices=VOCABULARIES, default=VOCABULARIES[0], help="names of groups and fields")
    add("--kind", default="", help="kind of inputs that name none")
    add("--api-version", default="", help="apiVersion of inputs that name none")
    parser = argparse.ArgumentParser(prog="orch-envelope", description="Converts API objects between encodings.")
    commands = parser.add_subparsers(dest="command", required=True)
    decode = commands.add_parser("decode", parents=[shared], help="envelope to JSON or YAML")
    decode.add_argument("--output", choices=("json", "yaml"), default="json")
    commands.add_parser("encode", parents=[shared], help="JSON or YAML to envelope").set_defaults(output="pb")
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
    """Run the command; the exit status comes out: 0, or 1 when an input could not be converted."""
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
    """Where outputs go: files of their own, or one after the other on standard output."""
    if arguments.out_dir is None:
        separators = _separators(arguments.output)
        return lambda _name, data: _put(stdout, next(separators) + data)
    folder: Path = arguments.out_dir
    taken: set[Path] = set()

    def write(name: str, data: bytes) -> None:
        path = folder / f"{'stdin' if name == _STDIN else Path(name).stem}.{arguments.output}"
        if path in taken:
            raise OSError(f"{path} is the output of another input too")
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
