"""Types of the API and encodings of their values: declarations, catalogue, codecs, defaulting, validation.

Everything here follows from the messages in `protos/` and their options, of which `api.msgpack` is the compiled form,
or from schema nodes that are given to `Schemas`. Nothing here does I/O beyond reading that file, keeps server state
except for these, or knows of verbs, storage or HTTP. Any package above may import it.
"""
