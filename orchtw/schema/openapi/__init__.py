"""OpenAPI v2 and v3 documents, made from schema nodes and the catalogue (reference OPENAPI-1).

`operations` lists what can be asked, `definitions` describes the types, `v2` and `v3` put both in a document,
`protobuf_v2` and `protobuf_v3` give documents their binary form, `published` keeps their bytes. How they travel over
HTTP is not here. Nothing is made before it is asked for.
"""
