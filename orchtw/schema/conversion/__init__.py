"""From one version of a kind to another."""
