"""Feature gates: defaults, the switches of whole stages, locked and unknown ones (reference OPS-23, OPS-24)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.feature_gates import GATES, resolve
from orchtw.config.releases import FIRST

GENERATION = "LegacyServiceAccountTokenNoAutoGeneration"
ON_HERE = ("CustomResourceValidationExpressions", "ServerSideFieldValidation")


class GateTests(SynchronousTestCase):
    def resolved(self, *settings: tuple[str, str], vocabulary: str = "kubernetes") -> dict[str, bool]:
        """The state under settings in which nothing is wrong."""
        state, problems = resolve(settings, vocabulary)
        self.assertEqual(problems, [])
        self.assertEqual(set(state), set(GATES))
        return state

    def problem(self, name: str, value: str) -> str:
        """Return the problem with one setting, which must leave all gates unchanged."""
        state, problems = resolve([(name, value)], "kubernetes")
        self.assertEqual(state, self.resolved())
        (line,) = problems
        return line

    def test_defaults(self) -> None:
        """Without the flag, alpha gates are off but for two of what users write, and all others are on."""
        for name, on in self.resolved().items():
            if GATES[name].since == FIRST:
                self.assertEqual(on, GATES[name].stage != "alpha" or name in ON_HERE, name)

    def test_emulated_release(self) -> None:
        """Features that are newer than the emulated release are off, even if their whole stage is switched on, and
        cannot be switched on by name.
        """
        newer = {name: gate for name, gate in GATES.items() if gate.since > FIRST}
        state, problems = resolve([("AllAlpha", "true"), ("AllBeta", "true")], "kubernetes", "1.24")
        self.assertEqual(problems, [])
        self.assertEqual([name for name in newer if state[name]], [])
        for name in newer:
            _, (line,) = resolve([(name, "true")], "kubernetes", "1.24")
            self.assertEqual(
                line,
                f"cannot set feature gate {name} to true, feature is newer than the emulated version 1.24",
            )

    def test_vocabulary(self) -> None:
        """One default is the vocabulary's: under `orch` accounts get their Secrets (CTRL-22). It can be set
        either way under both.
        """
        here = self.resolved(vocabulary="orch")
        self.assertEqual({name for name, on in self.resolved().items() if on != here[name]}, {GENERATION})
        self.assertFalse(here[GENERATION])
        for vocabulary in ("orch", "kubernetes"):
            for text, on in (("true", True), ("false", False)):
                self.assertEqual(self.resolved((GENERATION, text), vocabulary=vocabulary)[GENERATION], on)
                self.assertEqual(self.resolved(("AllBeta", text), vocabulary=vocabulary)[GENERATION], on)

    def test_one_gate(self) -> None:
        """A gate is switched by any spelling of a boolean; the others stay."""
        for text, on in (("true", True), ("T", True), ("1", True), ("false", False), ("0", False)):
            state = self.resolved(("OpenAPIV3", text))
            self.assertEqual(state, {**self.resolved(), "OpenAPIV3": on})

    def test_whole_stage(self) -> None:
        """AllAlpha and AllBeta switch their stage and nothing else."""
        for switch, stage, value in (("AllAlpha", "alpha", True), ("AllBeta", "beta", False)):
            state = self.resolved((switch, str(value).lower()))
            expected = {name: value if gate.stage == stage else gate.on for name, gate in GATES.items()}
            self.assertEqual(state, expected)

    def test_single_gate_comes_before_its_stage(self) -> None:
        """A gate named by itself keeps its value, wherever the whole stage is named."""
        for settings in (
            [("AllAlpha", "true"), ("StorageVersionAPI", "false")],
            [("StorageVersionAPI", "false"), ("AllAlpha", "true")],
        ):
            state = self.resolved(*settings)
            self.assertEqual((state["StorageVersionAPI"], state["APIServerIdentity"]), (False, True))

    def test_last_value_counts(self) -> None:
        """Of a gate that is named twice, the last value counts."""
        self.assertFalse(self.resolved(("DryRun", "true"), ("DryRun", "false"))["DryRun"])

    def test_locked(self) -> None:
        """A locked gate may only be set to its own value."""
        self.resolved(("RemoveSelfLink", "true"))
        self.assertEqual(
            self.problem("RemoveSelfLink", "false"),
            "cannot set feature gate RemoveSelfLink to false, feature is locked to true",
        )

    def test_unknown(self) -> None:
        """A gate that release 1.24 does not have is named."""
        self.assertEqual(self.problem("NoSuchGate", "true"), "unrecognized feature gate: NoSuchGate")

    def test_no_boolean(self) -> None:
        """A value that is not a boolean is shown with its gate."""
        self.assertTrue(self.problem("DryRun", "maybe").startswith("invalid value of DryRun=maybe, "))

    def test_every_problem(self) -> None:
        """All problems are reported at once, and valid settings beside them still count."""
        settings = [("a", "true"), ("DryRun", "x"), ("WatchBookmark", "0"), ("OpenAPIV3", "false")]
        state, problems = resolve(settings, "kubernetes")
        self.assertEqual((len(problems), state["OpenAPIV3"]), (3, False))
