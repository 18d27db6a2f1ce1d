"""Usage of simulated pods and nodes, and the metrics API that serves it (reference SIM-26)."""
