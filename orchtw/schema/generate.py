"""Compile `protos/` into `api.binpb`: `python -m orchtw.schema.generate`, from a checkout, with the `dev` extra.

Run it after every change to a .proto file and commit both. `--check` writes nothing and exits 1, with one line,
when the committed file is not what the protos say.
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


def compile_protos(protos: Path) -> bytes:
    """The FileDescriptorSet of every .proto file below `protos`, imports included and before their users.

    Equal sources give equal bytes: files go in by sorted name, comments and positions stay out.
    Raises ConfigError when the compiler is not installed or refuses a file.
    """
    try:
        from grpc_tools import protoc  # type: ignore[import-untyped]
    except ImportError as exc:
        raise ConfigError("generating the descriptors needs grpcio-tools: install orchtw[dev]") from exc
    names = sorted(str(path.relative_to(protos)) for path in protos.rglob("*.proto"))
    if not names:
        raise ConfigError(f"no .proto file in {protos}: run this from a checkout")
    well_known = Path(protoc.__file__).parent / "_proto"
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "set.binpb")
        folders = [f"-I{protos}", f"-I{well_known}"]
        if protoc.main(["protoc", *folders, "--include_imports", f"--descriptor_set_out={target}", *names]) != 0:
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
    """Write the descriptor set, or compare it; the process's exit code."""
    parser = argparse.ArgumentParser(prog="python -m orchtw.schema.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the file is stale")
    options = parser.parse_args(arguments)
    try:
        fresh = compile_protos(PROTOS)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        OUTPUT.write_bytes(fresh)
    elif not OUTPUT.exists() or OUTPUT.read_bytes() != fresh:
        print(f"{OUTPUT.name} is stale: run python -m orchtw.schema.generate", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
