"""JSONPath as printer columns use it: paths are parsed once into steps, and steps are taken on plain values."""
