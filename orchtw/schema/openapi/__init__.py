"""OpenAPI v2 and v3 documents, made from schema nodes and the catalogue (reference OPENAPI-1).

`operations` lists the requests, `definitions` describes the types, `v2` and `v3` put both in a document,
`protobuf` gives documents their binary form, `published` keeps their bytes. HTTP is not handled here. Everything is
made on demand.
"""
