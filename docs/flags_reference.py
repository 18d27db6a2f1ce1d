"""Write the flag reference: `python -m docs.flags_reference`, from a checkout, after every change to a flag.

The page is made of `FLAGS` in `orchtw.assembly.flags`, and of `feature_gates.GATES` and `cipher_suites.CIPHER_SUITES`
in `orchtw.config`.
`tests/test_docs.py` fails when the committed page is not what these say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from orchtw.assembly.flags import FLAGS
from orchtw.config.cipher_suites import CIPHER_SUITES
from orchtw.config.feature_gates import GATES
from orchtw.config.releases import FIRST
from orchtw.flags.flag import Flag

PAGE = Path(__file__).resolve().with_name("flags.md")

OPENING = """\
# Flags

*Written by `python -m docs.flags_reference`; do not edit.*

`twistd [options] orch-apiserver [flags]` reads the flags below. The options before `orch-apiserver`
are `twistd`'s own: `-n` (stay in the foreground), `--pidfile`, `--logfile`, `--syslog`, `--reactor`.

Syntax:

* `--flag=value` and `--flag value` mean the same; a flag of kind *boolean* may stand alone for `true`.
* A *duration* is written as in Go: `30s`, `5m0s`, `1h30m`, `250ms`.
* A *list* or *map* is comma-separated, may be given several times, and adds up: `--feature-gates A=true,B=false`.
* A flag that bears a component's name may be given under its name in the other vocabulary: `--kubelet-port` is
  `--orchlet-port`.
* A *file* that is relative is taken from the folder in which the server was started.
* `--config FILE` names a YAML file with the same names as keys, without dashes in front. Lists and maps may be
  YAML lists and maps there. A flag on the command line wins over the file's.

```yaml
# orch.yaml, used with: twistd -n orch-apiserver --config orch.yaml
secure-port: 7443
feature-gates:
  APIListChunking: false
authorization-mode: [Node, RBAC]
```

All mistakes, of the command line and of the file, are reported together, one line each on standard error, and
the process ends with status 1. `--help` prints this list, `--version` the release whose API is served.
"""
GATES_OPENING = """\
## Feature gates

For `--feature-gates`. `AllAlpha` and `AllBeta` switch a whole stage; a gate that is named by itself keeps its own
value. A *locked* gate can only be given the value it has. Gates of parts that are not served yet are accepted and
have no effect: [compatibility](compatibility.md) says which have one.

Features that came after release 1.24 are on if a client of that release cannot notice them, and off if they change an
existing answer. `--emulated-version` switches all off that came after the release it names: with 1.24 the server is
that release.
"""
SUITES_OPENING = """\
## Cipher suites

For `--tls-cipher-suites`, which concerns TLS 1.2 only. Without the flag, the ECDHE suites with AES-GCM and
ChaCha20 are offered. TLS 1.3 has its own three, which are always on.
"""
# How the page calls kinds that the help, like its model, leaves without a name or gives a long one.
_KINDS = {"": "boolean", "strings": "list", "mapStringString": "map", "int": "integer", "string": "text"}


def page(flags: Sequence[Flag] = FLAGS) -> str:
    """Return the whole page as Markdown."""
    sections = [OPENING]
    for section in dict.fromkeys(flag.section for flag in flags):
        rows = [_flag_row(flag) for flag in flags if flag.section == section]
        sections.append("\n".join((f"## {section}", "", *_table(("Flag", "Kind", "Default", "Meaning"), rows), "")))
    rows = [_gate_row(name) for name in sorted(GATES)]
    sections.append("\n".join((GATES_OPENING, *_table(("Gate", "Since", "Stage", "Default"), rows), "")))
    sections.append("\n".join((SUITES_OPENING, *(f"* `{name}`" for name in CIPHER_SUITES), "")))
    return "\n".join(sections)


def _flag_row(flag: Flag) -> tuple[str, ...]:
    shown = flag.kind.show(flag.default)
    name = f"`--{flag.name}`" + (f", `-{flag.short}`" if flag.short else "")
    return name, _KINDS.get(flag.kind.name, flag.kind.name), f"`{shown}`" if shown else "", _escaped(flag.help)


def _gate_row(name: str) -> tuple[str, ...]:
    gate = GATES[name]
    shown = _switch(gate.on) + (", locked" if gate.locked else "")
    if gate.on_in_orch is not None:
        shown += f"; {_switch(gate.on_in_orch)} under the vocabulary `orch`"
    since = "" if gate.since == FIRST else ".".join(map(str, gate.since))
    return f"`{name}`", since, gate.stage, shown


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _escaped(text: str) -> str:
    """Plain help text where Markdown would see marks of its own."""
    for mark in ("|", "<", "["):
        text = text.replace(mark, f"\\{mark}")
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
