SelfSubjectReview tells a client as which user its requests are made; `kubectl auth whoami` works.
