`orch-envelope` turns API objects between JSON or YAML and the binary form, from files or standard input.
