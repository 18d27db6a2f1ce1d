"""Controllers of ReplicaSets, ReplicationControllers, Deployments, DaemonSets and StatefulSets (reference SIM-40).

Each is keyed by `namespace/name` of its own objects. What they share about pods is in `pods`; nothing here knows how
pods are scheduled or run.
"""
