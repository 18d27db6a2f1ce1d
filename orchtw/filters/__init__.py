"""The request-level stages, one a file: each is wrapped around the rest of the line (see `chain`).

Which stages run is written out in `orchtw.assembly.stages` (DESIGN rule 4).
"""
