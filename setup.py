"""Records in the package which commit it is built from; everything else is in setup.cfg."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


def git(*arguments: str) -> str:
    """What git says of this folder; nothing where it is no checkout, or there is no git."""
    command = ("git", "-c", "safe.directory=*", *arguments)
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


class BuildPackage(build_py):
    """Adds `orchtw/build.json`, which `/version` shows."""

    def run(self) -> None:
        super().run()
        commit, _, seconds = git("log", "-1", "--format=%H %ct").partition(" ")
        if commit and not self.editable_mode:
            build = {"commit": commit, "clean": not git("status", "--porcelain"), "seconds": int(seconds)}
            Path(self.build_lib, "orchtw", "build.json").write_text(json.dumps(build))


setup(cmdclass={"build_py": BuildPackage})
