"""Controllers of bootstrap tokens: signatures of `cluster-info`, and removal of expired tokens."""
