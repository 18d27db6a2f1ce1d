"""`orch-envtest-assets DIR`: writes a folder for envtest's `KUBEBUILDER_ASSETS` (reference CLIENT-16)."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from orchtw.errors import ConfigError
from orchtw.flags.exit_status import document_exit_status
from orchtw.flags.version import add_version

KUBECTL: Final = "kubectl"

PROGRAMS: Final = {
    "kube-apiserver": "orchtw.commands.envtest.apiserver",
    "etcd": "orchtw.commands.envtest.etcd",
}
"""Modules by the name of the program that stands for them."""

_MARK: Final = "# Written by orch-envtest-assets."

# -P: a folder of the suite in which the program is started must not shadow a module. -B is not given: compiled
# modules make each start faster.
_SCRIPT: Final = """\
#!/bin/sh
{mark}
exec {python} -P -m {module} "$@"
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status (`orchtw.flags.exit_status.COMMAND`)."""
    options = command_line().parse_args(arguments)
    try:
        folder = write_assets(options.folder)
    except ConfigError as error:
        print(f"orch-envtest-assets: {error}", file=sys.stderr)
        return 1
    if not (folder / KUBECTL).exists():
        print(
            "orch-envtest-assets: no kubectl on the PATH: suites that run it fail, others do not need it",
            file=sys.stderr,
        )
    print(folder)
    return 0


def write_assets(folder: Path) -> Path:
    """Write the programs and link kubectl, if there is one; returns the absolute path of the folder.

    Raises ConfigError for a folder that cannot be written, or that has programs of another origin.
    """
    folder = folder.absolute()
    scripts = {folder / name: _script(module) for name, module in PROGRAMS.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in scripts:
            if path.exists() and _MARK.encode() not in path.read_bytes()[:200]:
                raise ConfigError(f"{path}: is another program, choose another folder")
        for path, text in scripts.items():
            path.write_text(text, encoding="utf-8")
            path.chmod(0o755)
        _link_kubectl(folder / KUBECTL)
    except OSError as error:
        raise ConfigError(f"{error.filename or folder}: {error.strerror}") from None
    return folder


def _script(module: str) -> str:
    return _SCRIPT.format(mark=_MARK, python=shlex.quote(sys.executable), module=module)


def _link_kubectl(link: Path) -> None:
    """Link the kubectl on the PATH, unless there is one already."""
    if link.exists():
        return
    link.unlink(missing_ok=True)  # a link whose target has gone
    found = shutil.which(KUBECTL)
    if found is not None:
        link.symlink_to(Path(found).absolute())


def command_line() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="orch-envtest-assets",
        description="Write kube-apiserver and etcd for controller-runtime's envtest, and print the folder: "
        'KUBEBUILDER_ASSETS="$(orch-envtest-assets DIR)" go test ./...',
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder to write; created if missing")
    add_version(parser)
    document_exit_status(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
