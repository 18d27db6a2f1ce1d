"""Selection of plugins, by default and by the flags (reference ADM-4, ADM-5, ADM-6)."""

from __future__ import annotations

import json
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission import order
from orchtw.admission.chain import ChainPlugin
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.order import DEFAULT, ORDER, problems, selected
from orchtw.admission.plugins import PLUGINS
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.admission.plugins.priority import Priority
from orchtw.config.admission import AdmissionOptions
from orchtw.errors import ConfigError
from orchtw.registry.targets import Targets
from tests.admission.asked import CATALOGUE, CODECS, host

TARGETS = Targets(CATALOGUE, CODECS, CATALOGUE.resources)
HOST = host(targets=TARGETS)

DEFAULTS = [
    *("NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority"),
    *("DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection"),
    *("PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning"),
    *("CertificateSubjectRestriction", "DefaultIngressClass", "PodTopologyLabels"),
    *("PodResizeValidator", "MutatingAdmissionPolicy"),
    *("MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota"),
]
"""Of the release, in their order."""


class SelectionTests(SynchronousTestCase):
    def test_default(self) -> None:
        """Without flags the default plugins run, as far as they are there."""
        self.assertEqual([name for name in ORDER if name in DEFAULT], DEFAULTS)
        self.assertEqual(list(selected(HOST, AdmissionOptions())), [name for name in DEFAULTS if name in PLUGINS])

    def test_later_releases(self) -> None:
        """Plugins of later releases do not exist while an earlier one is emulated (reference ADM-4)."""
        later = {"PodTopologyLabels", "PodResizeValidator"}
        for release, expected in (((1, 36), later), ((1, 35), {"PodTopologyLabels"}), ((1, 24), set())):
            found = selected(host(targets=TARGETS, release=release), AdmissionOptions())
            self.assertEqual(later.intersection(found), expected)
        options = AdmissionOptions(enable_admission_plugins=("PodResizeValidator",))
        self.assertEqual(problems(options), [])
        unknown = 'enable-admission-plugins plugin "PodResizeValidator" is unknown'
        self.assertEqual(problems(options, release=(1, 35)), [unknown])

    def test_off(self) -> None:
        """A default plugin can be switched off, also one that is not there."""
        options = AdmissionOptions(disable_admission_plugins=(*PLUGINS, "ResourceQuota"))
        self.assertEqual(selected(HOST, options), {})

    def test_order(self) -> None:
        """The release says the order, not the flags."""
        made: list[str] = []

        def factory(name: str) -> ChainPlugin:
            made.append(name)
            return NamespaceLifecycle.of(HOST)

        names = ("AlwaysDeny", "AlwaysAdmit", "NamespaceLifecycle")
        fakes = {name: lambda host, options, given, name=name: factory(name) for name in names}
        self.patch(order, "PLUGINS", fakes)
        selected(HOST, AdmissionOptions(enable_admission_plugins=("AlwaysDeny", "AlwaysAdmit")))
        self.assertEqual(made, ["AlwaysAdmit", "NamespaceLifecycle", "AlwaysDeny"])

    def test_wrong_names(self) -> None:
        """Every unknown name, one that is not here, and one that is on and off has its line."""
        here = ("NamespaceLifecycle", "Priority")
        self.patch(order, "PLUGINS", {name: PLUGINS[name] for name in here})
        available = f"available are {', '.join(here)}"
        options = AdmissionOptions(
            enable_admission_plugins=("Nope", "NodeRestriction", "LimitRanger", "NamespaceLifecycle"),
            disable_admission_plugins=("Neither", "NamespaceLifecycle"),
        )
        found = problems(options)
        self.assertEqual(
            found,
            [
                'enable-admission-plugins plugin "Nope" is unknown',
                'disable-admission-plugins plugin "Neither" is unknown',
                "[NamespaceLifecycle] in enable-admission-plugins and disable-admission-plugins overlapped",
                f'enable-admission-plugins: plugin "NodeRestriction" is not available; {available}',
                f'enable-admission-plugins: plugin "LimitRanger" is not available; {available}',
            ],
        )
        error = self.assertRaises(ConfigError, selected, HOST, options)
        self.assertEqual(list(error.problems), found)

    def test_alone(self) -> None:
        """The deprecated flag runs the listed plugins only, in the order of the release."""
        found = selected(HOST, AdmissionOptions(admission_control=("Priority", "NamespaceLifecycle")))
        self.assertEqual([type(plugin) for plugin in found.values()], [NamespaceLifecycle, Priority])

    def test_alone_excludes(self) -> None:
        """The deprecated flag goes with neither of the others, and has its own line for an unknown name."""
        line = (
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
        )
        alone, other = ("Priority",), ("ServiceAccount",)
        for options in (
            AdmissionOptions(admission_control=alone, enable_admission_plugins=other),
            AdmissionOptions(admission_control=alone, disable_admission_plugins=other),
        ):
            self.assertEqual(problems(options), [line])
        found = problems(AdmissionOptions(admission_control=("Nope",)))
        self.assertEqual(found, ['admission-control plugin "Nope" is unknown'])

    def test_configured(self) -> None:
        """A plugin gets the configuration that the file has for it, and its complaints are all reported (ADM-6)."""
        folder = Path(self.mktemp())
        folder.mkdir()
        plugins = [
            {"name": "PodNodeSelector", "configuration": {"a": 1}},
            {"name": "AlwaysDeny", "path": "not-there.yaml"},
        ]
        file = {"apiVersion": "apiserver.config.orch.io/v1", "kind": "AdmissionConfiguration", "plugins": plugins}
        (folder / "a.json").write_text(json.dumps(file))
        got: list[object] = []

        def factory(host: AdmissionHost, options: AdmissionOptions, given: Given | None) -> ChainPlugin:
            got.append(given and given.obj)
            raise ConfigError("not this one")

        names = ("PodNodeSelector", "Priority", "EventRateLimit")
        self.patch(order, "PLUGINS", dict.fromkeys(names, factory))
        options = AdmissionOptions(
            admission_control_config_file=folder / "a.json",
            enable_admission_plugins=("PodNodeSelector", "EventRateLimit"),
        )
        error = self.assertRaises(ConfigError, selected, HOST, options)
        self.assertEqual(got, [{"a": 1}, None])
        last = 'couldn\'t init admission plugin "EventRateLimit": no config specified'
        self.assertEqual(error.problems, ("not this one", "not this one", last))

    def test_tables(self) -> None:
        """Default and known plugins have their places in the order, each once."""
        self.assertEqual(len(ORDER), len(set(ORDER)))
        self.assertEqual(DEFAULT.difference(ORDER), frozenset())
        self.assertEqual(set(PLUGINS).difference(ORDER), set())
        self.assertEqual(len(DEFAULT), 22)
