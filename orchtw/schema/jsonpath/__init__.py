"""JSONPath for printer columns: paths are parsed once into steps, which are applied to plain values."""
