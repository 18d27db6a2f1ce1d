"""Settings that all property tests share (`tests.properties`)."""

from __future__ import annotations

import ast
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

TESTS = Path(__file__).parent


class SettingsTests(SynchronousTestCase):
    """Determinism of property tests: a run on another or a busier machine tries the same examples."""

    def test_shared(self) -> None:
        """Each property is decorated with settings besides `given`, and only `tests.properties` makes settings."""
        bare = []
        for path in sorted(TESTS.rglob("*.py")):
            text = path.read_text()
            if "given(" not in text and "hypothesis" not in text:
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    decorators = [ast.unparse(each) for each in node.decorator_list]
                    if any(each.startswith("given(") for each in decorators) and len(decorators) == 1:
                        bare.append(f"{path}: {node.name}")
                elif isinstance(node, ast.ImportFrom) and node.module == "hypothesis":
                    if path.name != "properties.py" and any(each.name == "settings" for each in node.names):
                        bare.append(f"{path}: settings of its own")
        self.assertEqual(bare, [])
