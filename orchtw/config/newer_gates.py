"""Feature gates of features that came after release 1.24, by subject.

A feature that a client of release 1.24 cannot notice (a kind, field, parameter, media type or function) is on; one
that changes an existing answer is off. `since` is the release that introduced the feature, in any stage; the stage is
that of the newest release.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from orchtw.config.gate import Gate

KINDS: Final[Mapping[str, Gate]] = {
    "AppArmorFields": Gate("ga", on=True, since=(1, 30)),
    "CSINodeExpandSecret": Gate("ga", on=True, since=(1, 25)),
    "CSIServiceAccountTokenSecrets": Gate("beta", on=True, since=(1, 35)),
    "ClusterTrustBundleProjection": Gate("beta", on=False, since=(1, 29)),
    "ContainerRestartRules": Gate("beta", on=True, since=(1, 34)),
    "ContainerStopSignals": Gate("alpha", on=False, since=(1, 33)),
    "CoordinatedLeaderElection": Gate("beta", on=False, since=(1, 31)),
    "CronJobTimeZone": Gate("ga", on=True, since=(1, 25)),
    "CrossNamespaceVolumeDataSource": Gate("alpha", on=False, since=(1, 26)),
    "DRAAdminAccess": Gate("beta", on=True, since=(1, 32)),
    "DRAConsumableCapacity": Gate("beta", on=True, since=(1, 34)),
    "DRADeviceBindingConditions": Gate("beta", on=True, since=(1, 34)),
    "DRADeviceTaints": Gate("beta", on=True, since=(1, 33)),
    "DRAExtendedResource": Gate("alpha", on=False, since=(1, 34)),
    "DRAListTypeAttributes": Gate("alpha", on=False, since=(1, 36)),
    "DRANodeAllocatableResources": Gate("alpha", on=False, since=(1, 36)),
    "DRAPartitionableDevices": Gate("beta", on=True, since=(1, 33)),
    "DRAPrioritizedList": Gate("beta", on=True, since=(1, 33)),
    "DRAResourceClaimDeviceStatus": Gate("beta", on=True, since=(1, 32)),
    "DRAWorkloadResourceClaims": Gate("alpha", on=False, since=(1, 36)),
    "DeploymentReplicaSetTerminatingReplicas": Gate("beta", on=True, since=(1, 33)),
    "DynamicResourceAllocation": Gate("ga", on=True, since=(1, 26)),
    "EnvFiles": Gate("beta", on=True, since=(1, 34)),
    "GenericWorkload": Gate("alpha", on=False, since=(1, 36)),
    "HPAConfigurableTolerance": Gate("beta", on=True, since=(1, 33)),
    "HPAContainerMetrics": Gate("ga", on=True, since=(1, 27)),
    "HostnameOverride": Gate("beta", on=True, since=(1, 34)),
    "ImageVolume": Gate("ga", on=True, since=(1, 31)),
    "ImageVolumeWithDigest": Gate("alpha", on=False, since=(1, 36)),
    "InPlacePodLevelResourcesVerticalScaling": Gate("alpha", on=False, since=(1, 35)),
    "InPlacePodVerticalScaling": Gate("ga", on=True, since=(1, 27)),
    "JobBackoffLimitPerIndex": Gate("ga", on=True, since=(1, 28)),
    "JobManagedBy": Gate("ga", on=True, since=(1, 30)),
    "JobPodFailurePolicy": Gate("ga", on=True, since=(1, 25)),
    "JobPodReplacementPolicy": Gate("ga", on=True, since=(1, 28)),
    "JobSuccessPolicy": Gate("ga", on=True, since=(1, 30)),
    "LoadBalancerIPMode": Gate("ga", on=True, since=(1, 29)),
    "MatchLabelKeysInPodAffinity": Gate("ga", on=True, since=(1, 29)),
    "MatchLabelKeysInPodTopologySpread": Gate("beta", on=True, since=(1, 25)),
    "MaxUnavailableStatefulSet": Gate("beta", on=True, since=(1, 35)),
    "MinDomainsInPodTopologySpread": Gate("ga", on=True, since=(1, 25)),
    # Services get their addresses as in release 1.24: no ServiceCIDR counts.
    "MultiCIDRServiceAllocator": Gate("ga", on=False, since=(1, 27)),
    "MutableCSINodeAllocatableCount": Gate("beta", on=True, since=(1, 33)),
    "NodeDeclaredFeatures": Gate("alpha", on=False, since=(1, 35)),
    "NodeInclusionPolicyInPodTopologySpread": Gate("ga", on=True, since=(1, 25)),
    "PDBUnhealthyPodEvictionPolicy": Gate("ga", on=True, since=(1, 26)),
    "PersistentVolumeLastPhaseTransitionTime": Gate("ga", on=True, since=(1, 28)),
    "PodCertificateProjection": Gate("beta", on=False, since=(1, 34)),
    "PodHostIPs": Gate("ga", on=True, since=(1, 28)),
    "PodIndexLabel": Gate("ga", on=True, since=(1, 28)),
    "PodLevelResources": Gate("beta", on=True, since=(1, 32)),
    "PodLifecycleSleepAction": Gate("ga", on=True, since=(1, 29)),
    "PodLogsQuerySplitStreams": Gate("alpha", on=False, since=(1, 32)),
    "PodObservedGenerationTracking": Gate("ga", on=False, since=(1, 33)),
    # It adds labels to pods, and the labels of Bindings.
    "PodTopologyLabelsAdmission": Gate("beta", on=False, since=(1, 33)),
    "PodSchedulingReadiness": Gate("ga", on=True, since=(1, 26)),
    "PreferSameTrafficDistribution": Gate("ga", on=True, since=(1, 33)),
    "RecoverVolumeExpansionFailure": Gate("ga", on=True, since=(1, 32)),
    "RecursiveReadOnlyMounts": Gate("ga", on=True, since=(1, 30)),
    "ResourceHealthStatus": Gate("alpha", on=False, since=(1, 31)),
    "ResourceHealthStatusMessage": Gate("alpha", on=False, since=(1, 36)),
    "SELinuxChangePolicy": Gate("beta", on=True, since=(1, 32)),
    "SELinuxMountReadWriteOncePod": Gate("beta", on=True, since=(1, 25)),
    "ServiceTrafficDistribution": Gate("ga", on=True, since=(1, 30)),
    "SidecarContainers": Gate("ga", on=True, since=(1, 28)),
    "StatefulSetAutoDeletePVC": Gate("ga", on=True, since=(1, 27)),
    "StatefulSetStartOrdinal": Gate("ga", on=True, since=(1, 26)),
    "SupplementalGroupsPolicy": Gate("ga", on=True, since=(1, 31)),
    "TaintTolerationComparisonOperators": Gate("alpha", on=False, since=(1, 35)),
    "TopologyAwareWorkloadScheduling": Gate("alpha", on=False, since=(1, 36)),
    "UserNamespacesSupport": Gate("ga", on=True, since=(1, 25)),
    "VolumeAttributesClass": Gate("ga", on=True, since=(1, 29)),
    "VolumeLimitScaling": Gate("alpha", on=False, since=(1, 36)),
    "WorkloadAwarePreemption": Gate("alpha", on=False, since=(1, 36)),
}
"""Gates of built-in kinds and their fields."""
CUSTOM_RESOURCES: Final[Mapping[str, Gate]] = {
    "CRDObservedGenerationTracking": Gate("beta", on=True, since=(1, 35)),
    # It accepts updates that the release refuses.
    "CRDValidationRatcheting": Gate("ga", on=False, since=(1, 28)),
    "CustomResourceFieldSelectors": Gate("ga", on=True, since=(1, 30)),
}
"""Gates of definitions and custom resources."""
ADMISSION: Final[Mapping[str, Gate]] = {
    "AdmissionWebhookMatchConditions": Gate("ga", on=True, since=(1, 27)),
    "MutatingAdmissionPolicy": Gate("ga", on=True, since=(1, 32)),
    "ValidatingAdmissionPolicy": Gate("ga", on=True, since=(1, 26)),
}
"""Gates of admission policies and webhooks."""
REQUESTS: Final[Mapping[str, Gate]] = {
    "AggregatedDiscoveryEndpoint": Gate("ga", on=True, since=(1, 26)),
    "AggregatedDiscoveryRemoveBetaType": Gate("beta", on=True, since=(1, 33)),
    "AllowUnsafeMalformedObjectDeletion": Gate("alpha", on=False, since=(1, 32)),
    "CBORServingAndStorage": Gate("alpha", on=False, since=(1, 32)),
    "ConsistentListFromCache": Gate("ga", on=True, since=(1, 28)),
    # Contents of a namespace stay longer than in release 1.24.
    "OrderedNamespaceDeletion": Gate("ga", on=False, since=(1, 33)),
    "ShardedListAndWatch": Gate("alpha", on=False, since=(1, 36)),
    "WatchList": Gate("beta", on=True, since=(1, 27)),
    "RetryGenerateName": Gate("ga", on=True, since=(1, 30)),
}
"""Gates of discovery, lists, watches, writes and encodings."""
IDENTITY: Final[Mapping[str, Gate]] = {
    "AnonymousAuthConfigurableEndpoints": Gate("ga", on=True, since=(1, 31)),
    "AuthorizeWithSelectors": Gate("ga", on=True, since=(1, 31)),
    # It asks authorizers first for rights that no 1.24 role gives, and names those in its refusals.
    "ConstrainedImpersonation": Gate("beta", on=False, since=(1, 35)),
    # They label Secrets, warn, and refuse and delete unused tokens: a client of release 1.24 would see it.
    "LegacyServiceAccountTokenTracking": Gate("ga", on=False, since=(1, 26)),
    "LegacyServiceAccountTokenCleanUp": Gate("ga", on=True, since=(1, 28)),
    "RemoteRequestHeaderUID": Gate("beta", on=True, since=(1, 32)),
    "StructuredAuthorizationConfiguration": Gate("ga", on=True, since=(1, 29)),
    "StructuredAuthenticationConfiguration": Gate("ga", on=True, since=(1, 29)),
    "ServiceAccountTokenJTI": Gate("ga", on=True, since=(1, 29)),
    "ServiceAccountTokenPodNodeInfo": Gate("ga", on=True, since=(1, 29)),
    "ServiceAccountTokenNodeBinding": Gate("ga", on=True, since=(1, 29)),
    "APISelfSubjectReview": Gate("ga", on=True, since=(1, 26)),
}
"""Gates of authentication and authorization."""
NEWER_GATES: Final[Mapping[str, Gate]] = MappingProxyType(
    {**KINDS, **CUSTOM_RESOURCES, **ADMISSION, **REQUESTS, **IDENTITY}
)
