"""One plugin of each kind for the orchtw API server; `pyproject.toml` has their entry points."""
