Long lists as Tables, YAML or indented JSON are made while they are sent, in chunks, so that they never lie in memory as a whole.
