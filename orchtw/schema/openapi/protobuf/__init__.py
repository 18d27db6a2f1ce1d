"""OpenAPI documents in Protobuf, the binary form that API clients ask for (reference OPENAPI-4)."""
