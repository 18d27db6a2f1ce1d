A server can leave bootstrapping and controllers to another one on the same store: `--bootstrap=false`, and `--controllers=-*` for no controllers but those that are named.
