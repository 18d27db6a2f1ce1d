"""The controller of DaemonSets: a pod on each node that will do (SIM-45)."""
