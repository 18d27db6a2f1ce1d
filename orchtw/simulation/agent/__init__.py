"""The node agent of all simulated nodes, one listener on loopback: logs, exec, attach, port-forward (SIM-24)."""
