"""The controller of StatefulSets: pods with names, numbers and claims of their own (SIM-44)."""
