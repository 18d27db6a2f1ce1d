"""The controller of Deployments, and the rules by which it moves pods from one ReplicaSet to another (SIM-42)."""
