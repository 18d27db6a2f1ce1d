Admission plugins AlwaysAdmit, AlwaysDeny, AlwaysPullImages, DefaultStorageClass, DefaultTolerationSeconds,
DenyServiceExternalIPs, ExtendedResourceToleration, LimitPodHardAntiAffinityTopology, PersistentVolumeClaimResize,
PersistentVolumeLabel, StorageObjectInUseProtection and TaintNodesByCondition, those of the release's default set on;
controllers pvc-protection and pv-protection. `--default-not-ready-toleration-seconds` and
`--default-unreachable-toleration-seconds` say how long pods stay on nodes that are gone.
