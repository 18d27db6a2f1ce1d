"""Compile `protos/` into what the packages load: `python -m orchtw.commands.generate`.

It runs from a checkout, with the `dev` extra.
Run it after every change to a .proto file and commit the lot. `--check` writes nothing and exits 1, with one line a
file, when a committed file is not what the protos say. A server loads the declarations of the API; the descriptors,
from which they are made, are for tests and other programs. OpenAPI's own messages, the texts that its documents show,
and etcd's messages are files of their own: a server that is never asked for them does not load them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from google.protobuf import descriptor_pb2

from orchtw.commands.declaring import declared
from orchtw.errors import ConfigError
from orchtw.schema import comments, declarations, descriptors
from orchtw.storage import etcd

PACKAGE = Path(descriptors.__file__).resolve().parent
PROTOS = PACKAGE.parent.parent / "protos"
OUTPUT = PACKAGE / descriptors.DESCRIPTOR_SET
DECLARATIONS_OUTPUT = PACKAGE / declarations.DECLARATIONS
OPENAPI_OUTPUT = PACKAGE / "openapi.binpb"
DESCRIPTIONS_OUTPUT = PACKAGE / "descriptions.json"
ETCD_OUTPUT = Path(etcd.__file__).resolve().parent / "etcd.binpb"
API_FOLDERS = ("orch", "orchtw")
OPENAPI_FOLDERS = ("openapi",)
ETCD_FOLDERS = ("etcd",)


def compile_protos(protos: Path, folders: Sequence[str] = API_FOLDERS) -> descriptor_pb2.FileDescriptorSet:
    """Compile all .proto files in `folders` of `protos`, comments included, with imports before their users.

    Raises ConfigError if there are no files, the compiler is not installed, or it rejects a file.
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
        options = ["--include_imports", "--include_source_info", f"--descriptor_set_out={target}"]
        if protoc.main(["protoc", *roots, *options, *names]) != 0:
            raise ConfigError("the protos do not compile")
        return descriptor_pb2.FileDescriptorSet.FromString(target.read_bytes())


def stripped(compiled: descriptor_pb2.FileDescriptorSet) -> bytes:
    """Encode the set without source info (positions, comments) and derived JSON names, which are not used.

    The output is deterministic, as the files are sorted by name.
    """
    files = descriptor_pb2.FileDescriptorSet()
    files.CopyFrom(compiled)
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


def generated() -> dict[Path, bytes]:
    """Return the content of every generated file by path. Raises ConfigError."""
    api = compile_protos(PROTOS)
    packaged = stripped(api)
    return {
        OUTPUT: packaged,
        DECLARATIONS_OUTPUT: declarations.encoded(declared(descriptors.Descriptors(packaged))),
        OPENAPI_OUTPUT: stripped(compile_protos(PROTOS, OPENAPI_FOLDERS)),
        ETCD_OUTPUT: stripped(compile_protos(PROTOS, ETCD_FOLDERS)),
        DESCRIPTIONS_OUTPUT: comments.encoded(comments.descriptions(api)),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the generated files; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m orchtw.commands.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    options = parser.parse_args(arguments)
    try:
        fresh = generated()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        for path, content in fresh.items():
            path.write_bytes(content)
        return 0
    stale = [path for path, content in fresh.items() if not path.exists() or path.read_bytes() != content]
    for path in stale:
        print(f"{path.name} is stale: run python -m orchtw.commands.generate", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
