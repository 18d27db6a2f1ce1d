With `--simulate`, `while` loops in containers' commands are simulated, `resourceFieldRef` variables have their values, and `/logs/` of a node is an empty listing.
