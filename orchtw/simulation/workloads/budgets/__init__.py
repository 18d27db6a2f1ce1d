"""The controller of PodDisruptionBudgets: how many pods evictions may take (SIM-48)."""
