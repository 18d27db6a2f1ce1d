from orchtw.testing.api_server import ApiServer as ApiServer
from orchtw.testing.async_api_server import AsyncApiServer as AsyncApiServer
from orchtw.testing.control.answers import ApiError as ApiError
from orchtw.testing.control.failures import ConditionNotMet as ConditionNotMet
from orchtw.testing.control.failures import NotQuiet as NotQuiet
from orchtw.testing.control.selectors import absent as absent
from orchtw.testing.start_failed import StartFailed as StartFailed
