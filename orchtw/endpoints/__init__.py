"""Non-resource endpoints: discovery, OpenAPI, health, metrics, version and debugging."""
