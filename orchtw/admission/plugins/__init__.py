"""The built-in admission plugins, one per file, and the registry of their names as the flags spell them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchtw.admission.chain import ChainPlugin
from orchtw.admission.configuration import Given
from orchtw.admission.host import AdmissionHost
from orchtw.admission.plugins.always import AlwaysAdmit, AlwaysDeny
from orchtw.admission.plugins.always_pull_images import AlwaysPullImages
from orchtw.admission.plugins.certificate_approval import CertificateApproval
from orchtw.admission.plugins.certificate_signing import CertificateSigning
from orchtw.admission.plugins.certificate_subject_restriction import CertificateSubjectRestriction
from orchtw.admission.plugins.default_ingress_class import DefaultIngressClass
from orchtw.admission.plugins.default_storage_class import DefaultStorageClass
from orchtw.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from orchtw.admission.plugins.deny_exec import DenyExec
from orchtw.admission.plugins.deny_service_external_ips import DenyServiceExternalIPs
from orchtw.admission.plugins.event_rate_limit import EventRateLimit
from orchtw.admission.plugins.extended_resource_toleration import ExtendedResourceToleration
from orchtw.admission.plugins.image_policy.plugin import ImagePolicyWebhook
from orchtw.admission.plugins.limit_pod_hard_anti_affinity_topology import LimitPodHardAntiAffinityTopology
from orchtw.admission.plugins.limit_ranger import LimitRanger
from orchtw.admission.plugins.mutating_webhook import MutatingWebhook
from orchtw.admission.plugins.namespace_auto_provision import NamespaceAutoProvision
from orchtw.admission.plugins.namespace_exists import NamespaceExists
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.admission.plugins.node_restriction.plugin import NodeRestriction
from orchtw.admission.plugins.owner_references import OwnerReferencesPermissionEnforcement
from orchtw.admission.plugins.persistent_volume_claim_resize import PersistentVolumeClaimResize
from orchtw.admission.plugins.persistent_volume_label import PersistentVolumeLabel
from orchtw.admission.plugins.pod_node_selector import PodNodeSelector
from orchtw.admission.plugins.pod_security.plugin import PodSecurity
from orchtw.admission.plugins.pod_security_policy.plugin import PodSecurityPolicy
from orchtw.admission.plugins.pod_toleration_restriction import PodTolerationRestriction
from orchtw.admission.plugins.priority import Priority
from orchtw.admission.plugins.resource_quota.plugin import ResourceQuota
from orchtw.admission.plugins.runtime_class import RuntimeClassPlugin
from orchtw.admission.plugins.security_context_deny import SecurityContextDeny
from orchtw.admission.plugins.service_account import ServiceAccountPlugin
from orchtw.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from orchtw.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from orchtw.admission.plugins.validating_webhook import ValidatingWebhook
from orchtw.config import Config

PLUGINS: Mapping[str, Callable[[AdmissionHost, Config, Given | None], ChainPlugin]] = {
    "AlwaysAdmit": lambda host, config, given: AlwaysAdmit(),
    "AlwaysDeny": lambda host, config, given: AlwaysDeny(host.naming.api_server_user),
    "AlwaysPullImages": lambda host, config, given: AlwaysPullImages(),
    "CertificateApproval": lambda host, config, given: CertificateApproval.of(host),
    "CertificateSigning": lambda host, config, given: CertificateSigning.of(host),
    "CertificateSubjectRestriction": lambda host, config, given: CertificateSubjectRestriction.of(host),
    "DefaultIngressClass": lambda host, config, given: DefaultIngressClass.of(host),
    "DefaultStorageClass": lambda host, config, given: DefaultStorageClass.of(host),
    "DefaultTolerationSeconds": lambda host, config, given: DefaultTolerationSeconds.of(host, config),
    "DenyEscalatingExec": lambda host, config, given: DenyExec.escalating(host),
    "DenyExecOnPrivileged": lambda host, config, given: DenyExec.privileged(host),
    "DenyServiceExternalIPs": lambda host, config, given: DenyServiceExternalIPs(),
    "EventRateLimit": lambda host, config, given: EventRateLimit.of(host, given),
    "ExtendedResourceToleration": lambda host, config, given: ExtendedResourceToleration.of(host),
    "ImagePolicyWebhook": lambda host, config, given: ImagePolicyWebhook.of(host, given),
    "LimitPodHardAntiAffinityTopology": lambda host, config, given: LimitPodHardAntiAffinityTopology.of(host),
    "LimitRanger": lambda host, config, given: LimitRanger.of(host),
    "NamespaceAutoProvision": lambda host, config, given: NamespaceAutoProvision.of(host),
    "NamespaceExists": lambda host, config, given: NamespaceExists.of(host),
    "NamespaceLifecycle": lambda host, config, given: NamespaceLifecycle.of(host),
    "NodeRestriction": lambda host, config, given: NodeRestriction.of(host),
    "OwnerReferencesPermissionEnforcement": lambda host, config, given: OwnerReferencesPermissionEnforcement.of(host),
    "PersistentVolumeClaimResize": lambda host, config, given: PersistentVolumeClaimResize.of(host),
    "PersistentVolumeLabel": lambda host, config, given: PersistentVolumeLabel(),
    "PodNodeSelector": lambda host, config, given: PodNodeSelector.of(host, given),
    "PodSecurity": lambda host, config, given: PodSecurity.of(host, config, given),
    "PodSecurityPolicy": lambda host, config, given: PodSecurityPolicy.of(host),
    "PodTolerationRestriction": lambda host, config, given: PodTolerationRestriction.of(host, given),
    "Priority": lambda host, config, given: Priority.of(host),
    "ResourceQuota": lambda host, config, given: ResourceQuota.of(host, given),
    "RuntimeClass": lambda host, config, given: RuntimeClassPlugin.of(host),
    "SecurityContextDeny": lambda host, config, given: SecurityContextDeny.of(host),
    "ServiceAccount": lambda host, config, given: ServiceAccountPlugin.of(host),
    "MutatingAdmissionWebhook": lambda host, config, given: MutatingWebhook(host, given),
    "ValidatingAdmissionWebhook": lambda host, config, given: ValidatingWebhook(host, given),
    "StorageObjectInUseProtection": lambda host, config, given: StorageObjectInUseProtection.of(host),
    "TaintNodesByCondition": lambda host, config, given: TaintNodesByCondition.of(host),
}
"""What `--enable-admission-plugins` can name; they run in the order of `selection.ORDER`.

A factory is given the plugin's own configuration, if there is one, and raises ConfigError for what is wrong in it.
"""
