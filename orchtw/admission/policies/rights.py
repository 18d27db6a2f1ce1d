"""Questions of expressions to the authorizer (reference POLICY-6).

Expressions cannot wait, and may run in a thread. A question without an answer therefore ends the run, is answered on
the reactor, and the expressions run again: `decide` raises Undecided, `answer` asks the authorizer.
"""

from __future__ import annotations

from typing import Final

from orchtw.admission.attributes import Attributes
from orchtw.authz.decision import Authorizer, Decision
from orchtw.request import RequestInfo, UserInfo
from orchtw.schema.cel.library import authorizers
from orchtw.schema.cel.library.authorizers import Answer, Question

ANY_VERSION: Final = "*"
_ACCOUNTS: Final = "system:serviceaccounts"


class Undecided(Exception):
    """A question has no answer yet."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Rights:
    """Rights of the user of one write, with the answers so far."""

    def __init__(self, authorizer: Authorizer, attributes: Attributes) -> None:
        self._authorizer = authorizer
        self._attributes = attributes
        self._known: dict[Question, Answer] = {}

    def decide(self, question: Question) -> Answer:
        """Return the answer to a question. Raises Undecided if it is not known."""
        found = self._known.get(question)
        if found is None:
            raise Undecided(question)
        return found

    async def answer(self, question: Question) -> None:
        """Ask the authorizer a question, and keep the answer."""
        decision = self._authorizer.authorize(self._user(question), _info(question))
        if not isinstance(decision, Decision):
            decision = await decision
        self._known[question] = Answer(bool(decision.allowed), decision.reason, decision.error)

    @property
    def authorizer(self) -> authorizers.Authorizer:
        """The value of variable `authorizer`."""
        return authorizers.Authorizer(self.decide)

    def own(self, shown: Attributes) -> authorizers.ResourceCheck:
        """Return the value of variable `authorizer.requestResource` for the write as it is `shown`."""
        question = Question(
            group=shown.resource.group,
            resource=shown.resource.plural,
            subresource=shown.subresource,
            namespace=shown.namespace,
            name=shown.name,
        )
        return authorizers.ResourceCheck(self.decide, question)

    def _user(self, question: Question) -> UserInfo:
        if question.service_account is None:
            return self._attributes.user
        namespace, name = question.service_account
        groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}")
        return UserInfo(name=f"system:serviceaccount:{namespace}:{name}", groups=groups)


def _info(question: Question) -> RequestInfo:
    if question.path:
        return RequestInfo(is_resource=False, verb=question.verb, path=question.path)
    return RequestInfo(
        is_resource=True,
        verb=question.verb,
        path="",
        group=question.group,
        version=ANY_VERSION,
        resource=question.resource,
        subresource=question.subresource,
        namespace=question.namespace,
        name=question.name,
        field_selector=question.field_selector,
        label_selector=question.label_selector,
    )
