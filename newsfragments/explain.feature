`kubectl explain` tells what every field does: its unit and default, what absent means, limits, allowed values and whether it can change.
