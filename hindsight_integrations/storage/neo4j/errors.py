"""What the errors of Neo4j's driver and server mean to us, each with what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from ssl import SSLError

from hindsight_integrations.errors import StoreError, StoreUnavailableError

_REACH = "check that the server runs, that its address is right, and that nothing blocks it"
_CREDENTIALS = "the server refuses this user and password; give the right user=... and password=..."
_RIGHTS = "give a user who may read, write and create indexes, whose password has not expired"
_SETTINGS = "check the scheme, the certificate and the credentials given"
_LATER = "nothing was stored; try again"
_UNKNOWN = "the connection broke while committing: look whether the change is there, then repeat it"
_SERVER = "the server cannot go on: free some space if its disk is full, and restart it"
_REPORT = "nothing was stored; run the doctor, and report this if it recurs"

NEO4J_ERRORS: Mapping[str, tuple[type[StoreError], str]] = {
    "AuthConfigurationError": (StoreUnavailableError, _SETTINGS),
    "AuthError": (StoreUnavailableError, _CREDENTIALS),
    "BrokenRecordError": (StoreError, _REPORT),
    "CertificateConfigurationError": (StoreUnavailableError, _SETTINGS),
    "ClientError": (StoreError, _REPORT),
    "ConfigurationError": (StoreUnavailableError, _SETTINGS),
    "ConnectionAcquisitionTimeoutError": (StoreUnavailableError, _REACH),
    "ConnectionPoolError": (StoreUnavailableError, _REACH),
    "ConstraintError": (StoreError, _REPORT),
    "CypherSyntaxError": (StoreError, _REPORT),
    "CypherTypeError": (StoreError, _REPORT),
    "DatabaseError": (StoreUnavailableError, _SERVER),
    "DatabaseUnavailable": (StoreUnavailableError, _SERVER),
    "DriverError": (StoreError, _REPORT),
    "Forbidden": (StoreUnavailableError, _RIGHTS),
    "ForbiddenOnReadOnlyDatabase": (StoreUnavailableError, _SERVER),
    "GqlError": (StoreError, _REPORT),
    "IncompleteCommit": (StoreUnavailableError, _UNKNOWN),
    "Neo4jError": (StoreError, _REPORT),
    "NotALeader": (StoreUnavailableError, _LATER),
    "ReadServiceUnavailable": (StoreUnavailableError, _REACH),
    "ResultConsumedError": (StoreError, _REPORT),
    "ResultError": (StoreError, _REPORT),
    "ResultFailedError": (StoreError, _REPORT),
    "ResultNotSingleError": (StoreError, _REPORT),
    "RoutingServiceUnavailable": (StoreUnavailableError, _REACH),
    "ServiceUnavailable": (StoreUnavailableError, _REACH),
    "SessionError": (StoreError, _REPORT),
    "SessionExpired": (StoreUnavailableError, _REACH),
    "TokenExpired": (StoreUnavailableError, _CREDENTIALS),
    "TransactionError": (StoreError, _REPORT),
    "TransactionNestingError": (StoreError, _REPORT),
    "TransientError": (StoreUnavailableError, _LATER),
    "UnsupportedServerProduct": (StoreUnavailableError, "give the address of a Neo4j server"),
    "WriteServiceUnavailable": (StoreUnavailableError, _REACH),
}
"""What each error of the driver means to us, by the name of its class."""

_CODES: Mapping[str, tuple[type[StoreError], str]] = {
    "Neo.ClientError.Database.DatabaseNotFound": (
        StoreUnavailableError,
        "create this database, or name another with database=...",
    ),
    "Neo.ClientError.Security.AuthenticationRateLimit": (
        StoreUnavailableError,
        "a wrong password was given too often; wait some seconds, then give the right one",
    ),
    "Neo.ClientError.Security.CredentialsExpired": (StoreUnavailableError, _RIGHTS),
}
"""What the server's status codes mean where their class says too little."""

_CONNECTING: Mapping[str, str] = {
    "[SSLCertVerificationError]": (
        "this machine does not trust the server's certificate, or it is another host's: name the "
        "PEM file of its authority in SSL_CERT_FILE, and give the host that it was made for"
    ),
    "Failed to establish encrypted connection": (
        f"{_REACH}; if it has no TLS, give neo4j:// or bolt://"
    ),
    "handshake response": f"{_REACH}; if it takes TLS alone, give neo4j+s:// or bolt+s://",
}
"""What to do about a connection that cannot be made, by a sign of it in the driver's words."""


def store_error(error: Exception, where: str) -> StoreError:
    """Our error for one of the driver's; `where` is the server's address, without credentials."""
    names = (cls.__name__ for cls in type(error).__mro__)
    kind, advice = _CODES.get(getattr(error, "code", None) or "") or next(
        NEO4J_ERRORS[name] for name in names if name in NEO4J_ERRORS
    )
    routes = error.__cause__  # what each server said that was asked for the routes
    told = routes.exceptions[0] if isinstance(routes, ExceptionGroup) else error
    text = str(getattr(told, "message", None) or told)
    advice = next((each for sign, each in _CONNECTING.items() if sign in text), advice)
    if isinstance(first := _first(told), SSLError):
        text = str(first)
    return kind(f"Neo4j at {where}: {' '.join(text.split()) or type(error).__name__}; {advice}")


def _first(error: BaseException) -> BaseException:
    """What went wrong first: the driver wraps it twice, and tells of TLS too little."""
    while error.__cause__:
        error = error.__cause__
    return error
