"""Simulated machines, and the controllers that watch over nodes: `simulated-nodes`, `nodelifecycle`, `podgc`."""
