A start takes a fifth less CPU and a server 5 MiB less memory: most records are `msgspec.Struct` classes, so embedding programs change copies with `msgspec.structs.replace`.
