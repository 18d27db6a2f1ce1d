"""Compile `protos/` into `api.binpb` and `openapi.binpb`: `python -m orchtw.schema.generate`.

It runs from a checkout, with the `dev` extra.
Run it after every change to a .proto file and commit both. `--check` writes nothing and exits 1, with one line a
file, when a committed file is not what the protos say. OpenAPI's own messages are a set of their own: a server that
is never asked for them does not load them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from google.protobuf import descriptor_pb2

from orchtw.errors import ConfigError

PACKAGE = Path(__file__).resolve().parent
PROTOS = PACKAGE.parent.parent / "protos"
OUTPUT = PACKAGE / "api.binpb"
OPENAPI_OUTPUT = PACKAGE / "openapi.binpb"
API_FOLDERS = ("orch", "orchtw")
OPENAPI_FOLDERS = ("openapi",)


def compile_protos(protos: Path, folders: Sequence[str] = API_FOLDERS) -> bytes:
    """The FileDescriptorSet of every .proto file in `folders` of `protos`, imports included and before their users.

    Equal sources give equal bytes: files go in by sorted name, comments and positions stay out.
    Raises ConfigError when the compiler is not installed or refuses a file.
    """
    try:
        from grpc_tools import protoc  # type: ignore[import-untyped]
    except ImportError as exc:
        raise ConfigError("generating the descriptors needs grpcio-tools: install orchtw[dev]") from exc
    names = sorted(str(path.relative_to(protos)) for each in folders for path in (protos / each).rglob("*.proto"))
    if not names:
        raise ConfigError(f"no .proto file in {protos}: run this from a checkout")
    well_known = Path(protoc.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "set.binpb")
        roots = [f"-I{protos}", f"-I{well_known}"]
        if protoc.main(["protoc", *roots, "--include_imports", f"--descriptor_set_out={target}", *names]) != 0:
            raise ConfigError("the protos do not compile")
        return stripped(target.read_bytes())


def stripped(raw: bytes) -> bytes:
    """The descriptor set without what the program never reads: positions, comments and derived JSON names."""
    files = descriptor_pb2.FileDescriptorSet.FromString(raw)
    for file in files.file:
        file.ClearField("source_code_info")
        pending = list(file.message_type)
        while pending:
            message = pending.pop()
            pending.extend(message.nested_type)
            for field in [*message.field, *message.extension]:
                field.ClearField("json_name")
        for extension in file.extension:
            extension.ClearField("json_name")
    return files.SerializeToString(deterministic=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the descriptor sets, or compare them; the process's exit code."""
    parser = argparse.ArgumentParser(prog="python -m orchtw.schema.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    options = parser.parse_args(arguments)
    outputs = ((OUTPUT, API_FOLDERS), (OPENAPI_OUTPUT, OPENAPI_FOLDERS))
    try:
        fresh = [(output, compile_protos(PROTOS, folders)) for output, folders in outputs]
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        for output, content in fresh:
            output.write_bytes(content)
        return 0
    stale = [output.name for output, content in fresh if not output.exists() or output.read_bytes() != content]
    for name in stale:
        print(f"{name} is stale: run python -m orchtw.schema.generate", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
