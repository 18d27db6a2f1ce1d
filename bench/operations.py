"""Gets and creates with everything on that operators have on: audit at level Metadata in its default mode besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.machine import Machine
from bench.objects import create, get
from bench.options import Options
from bench.server import data_directory, running
from bench.session import Bench, Emit, MediaTypes
from orchtw.naming.naming import Naming

POLICY = """\
apiVersion: audit.orch.io/v1
kind: Policy
rules:
  - level: Metadata
"""


def operations(options: Options, emit: Emit) -> None:
    """Measure the same server without and with the audit log."""
    types = MediaTypes(protobuf=Naming.orch().protobuf_media_type, table="")
    with data_directory() as folder:
        policy = folder / "policy.yaml"
        policy.write_text(POLICY)
        audited = [f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}"]
        for flags in ([], audited):
            _measure(options, emit, types, flags)


def _measure(options: Options, emit: Emit, types: MediaTypes, flags: Sequence[str]) -> None:
    with running([*options.server_flag, *flags]) as server:

        def told(scenario: str, fields: Mapping[str, object]) -> None:
            emit(f"operations_{scenario}", {"audit": bool(flags), **fields})

        bench = Bench(options, server.endpoint, Machine((server.pid,)), told, types, ())
        bench.warm_up()
        create(bench)
        get(bench)
