`kubectl apply --server-side` works: every write records who owns which field, and an apply that would take a field from somebody else is a conflict unless it is forced.
