"""The request-level stages, one per file: each is wrapped around the rest of the line (see `chain`).

Which stages run is written out in `orchtw.assembly.stages` (reference DESIGN-4).
"""
