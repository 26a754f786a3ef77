"""Every error this package raises, as a tree.

Catch `HindsightError` to catch them all. Errors of the libraries used (SQLite, Neo4j, Chroma,
ONNX Runtime, spaCy) are converted to one of these, with the original as `__cause__`. Each message
says what is wrong, what was expected and what to do.

HindsightError
├── InvalidInputError (ValueError)       an argument cannot be used; nothing was changed
│   └── ContentTooLargeError             more text in one call than the settings allow
├── NotFoundError (LookupError)          the requested object does not exist
│   ├── BankNotFoundError
│   ├── MemoryNotFoundError
│   ├── DocumentNotFoundError
│   └── EntityNotFoundError
├── AccessDeniedError                    a service refused the request: no valid token
├── ConflictError                        it exists already, or was changed at the same time
│   └── BankExistsError
├── ClosedError                          used after close()
│   └── ForkedError                      opened before the process was forked
├── StoreError                           a store could not carry out an operation
│   ├── StoreLockedError                 another process owns the folder
│   ├── StoreUnavailableError            a store cannot be reached or written
│   ├── StoreCorruptError                a store's content cannot be read
│   ├── SchemaVersionError               the folder was written by a newer release
│   └── EmbedderMismatchError            a bank's vectors come from another embedder
├── GuardError                           `before_retain` raised, or refused a correction
├── ModelError                           a model failed, local or remote
│   ├── ModelFilesError                  a local model's files are missing or altered
│   ├── EmbeddingError                   an embedder raised, or returned unusable vectors
│   ├── ExtractionError                  an extractor raised, or returned unusable facts
│   └── RerankError                      a reranker raised, or returned unusable scores
└── MissingExtraError (ImportError)      an optional dependency is not installed
"""

from __future__ import annotations


class HindsightError(Exception):
    """Base of every error this package raises."""


class InvalidInputError(HindsightError, ValueError):
    """An argument cannot be used; nothing was changed."""


class ContentTooLargeError(InvalidInputError):
    """One call contained more text than `Settings.max_content_chars` allows."""


class NotFoundError(HindsightError, LookupError):
    """The requested object does not exist."""


class BankNotFoundError(NotFoundError):
    """No bank has this id."""


class MemoryNotFoundError(NotFoundError):
    """No memory in this bank has this id."""


class DocumentNotFoundError(NotFoundError):
    """No document in this bank has this id."""


class EntityNotFoundError(NotFoundError):
    """No entity in this bank has this id or name."""


class ConflictError(HindsightError):
    """The object exists already, or was changed by another writer at the same time."""


class BankExistsError(ConflictError):
    """A bank with this id exists already."""


class AccessDeniedError(HindsightError):
    """A service refused the request: the token is missing, wrong, or not valid for it."""


class ClosedError(HindsightError):
    """The client was used after `close()`."""


class ForkedError(ClosedError):
    """The client was opened before this process was forked; open it again in the child."""


class StoreError(HindsightError):
    """A store could not carry out an operation."""


class StoreLockedError(StoreError):
    """Another process owns the store's folder."""


class StoreUnavailableError(StoreError):
    """A store cannot be reached, read or written."""


class StoreCorruptError(StoreError):
    """A store's content cannot be read."""


class SchemaVersionError(StoreError):
    """The store was written by a newer release of this package."""


class EmbedderMismatchError(StoreError):
    """A bank's vectors come from another embedder than the one given."""


class ModelError(HindsightError):
    """A model failed, local or remote.

    Attributes:
        tokens: tokens a language model had used before it failed.
    """

    def __init__(self, *args: object, tokens: int = 0) -> None:
        super().__init__(*args)
        self.tokens = tokens


class ModelFilesError(ModelError):
    """A local model's files are missing, incomplete or altered."""


class EmbeddingError(ModelError):
    """An embedder raised, or returned vectors that cannot be used."""


class ExtractionError(ModelError):
    """An extractor raised, or returned facts that cannot be used."""


class RerankError(ModelError):
    """A reranker raised, or returned scores that cannot be used."""


class GuardError(HindsightError):
    """A `before_retain` function raised, or refused a correction; nothing was stored."""


class MissingExtraError(HindsightError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""


OUTAGES = (
    StoreUnavailableError,
    StoreLockedError,
    StoreCorruptError,
    SchemaVersionError,
    ClosedError,
)
"""Errors of a store that can take and answer nothing at all, whatever it is given."""


# Errors as JSON and as HTTP status, for results and services


def error_content(error: BaseException) -> dict[str, object]:
    """Return an error as a JSON object: its type, its message, and a model error's tokens."""
    tokens = {"tokens": error.tokens} if isinstance(error, ModelError) and error.tokens else {}
    return {"type": type(error).__name__, "message": str(error), **tokens}


_HTTP_STATUS: tuple[tuple[type[HindsightError], int], ...] = (
    (ContentTooLargeError, 413),
    (InvalidInputError, 400),
    (AccessDeniedError, 403),
    (NotFoundError, 404),
    (ConflictError, 409),
    (EmbedderMismatchError, 409),
    (GuardError, 422),
    (MissingExtraError, 501),
    (ModelError, 503),
    (StoreError, 503),
    (ClosedError, 503),
)
"""HTTP status of each class of errors; a class stands before its base class."""


def http_status(error: BaseException) -> int:
    """Return the HTTP status that reports an error; 500 for one of another package."""
    return next((status for kind, status in _HTTP_STATUS if isinstance(error, kind)), 500)


def error_of(content: object) -> Exception:
    """Return the error from the result of `error_content`.

    An error of another package becomes a `HindsightError` whose message begins with its type.

    Raises:
        ValueError: `content` does not describe an error.
    """
    if isinstance(content, Exception):
        return content
    if not isinstance(content, dict) or not {"type", "message"} <= content.keys():
        raise ValueError("this does not describe an error; give an object with type and message")
    name, message = str(content["type"]), str(content["message"])
    kind = {each.__name__: each for each in _every(HindsightError)}.get(name)
    if kind is None:
        return HindsightError(f"{name}: {message}")
    error = kind(message)
    if isinstance(error, ModelError):
        error.tokens = int(content.get("tokens", 0))
    return error


def _every(kind: type[HindsightError]) -> list[type[HindsightError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _every(below))]
