Definitions may name `selectableFields`, by which lists, watches and deletions of their objects can then select, with an index.
