Lists cost what they return, not what is stored: pages, exact versions and what comes after a write do not depend on the
number of objects, and labels, fields and names that select few get an index once lists have looked at many in vain.
`python -m bench --scale` prints cost against size.
