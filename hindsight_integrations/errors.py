"""Every error this package raises, as a tree.

Catch `HindsightError` to catch them all. What a lower library raises (SQLite, Neo4j, Chroma,
ONNX Runtime, spaCy) is mapped to one of these where it happens, with the original as its
`__cause__`; each message says what was wrong, what was expected and what to do.

HindsightError
├── InvalidInputError (ValueError)       an argument is refused before anything is touched
│   └── ContentTooLargeError             more text in one call than the settings allow
├── NotFoundError (LookupError)          the thing named does not exist
│   ├── BankNotFoundError
│   ├── MemoryNotFoundError
│   ├── DocumentNotFoundError
│   └── EntityNotFoundError
├── AccessDeniedError                    a service refuses the request: it needs a token
├── ConflictError                        the thing named exists already, or was changed meanwhile
│   └── BankExistsError
├── ClosedError                          used after close()
│   └── ForkedError                      opened before the process was forked
├── StoreError                           the stores could not do what was asked
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
    """An argument was refused before anything was touched."""


class ContentTooLargeError(InvalidInputError):
    """One call carried more text than `Settings.max_content_chars` allows."""


class NotFoundError(HindsightError, LookupError):
    """The thing named does not exist."""


class BankNotFoundError(NotFoundError):
    """No bank has this id."""


class MemoryNotFoundError(NotFoundError):
    """No memory in this bank has this id."""


class DocumentNotFoundError(NotFoundError):
    """No document in this bank has this id."""


class EntityNotFoundError(NotFoundError):
    """No entity in this bank has this id or name."""


class ConflictError(HindsightError):
    """The thing named exists already, or was changed meanwhile."""


class BankExistsError(ConflictError):
    """A bank of this id exists already."""


class AccessDeniedError(HindsightError):
    """A service refused the request: it has no token, or one of something else."""


class ClosedError(HindsightError):
    """The engine was used after `close()`."""


class ForkedError(ClosedError):
    """The engine was opened before this process was forked, and does not outlive a fork."""


class StoreError(HindsightError):
    """The stores could not do what was asked of them."""


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
        tokens: what a language model had taken until then.
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
    """A function given as `before_retain` raised, or refused a correction; nothing was stored."""


class MissingExtraError(HindsightError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""


# Errors as JSON, for results and services


def error_content(error: BaseException) -> dict[str, object]:
    """Return an error as JSON holds it: its type and message, and the tokens of a model's."""
    tokens = {"tokens": error.tokens} if isinstance(error, ModelError) and error.tokens else {}
    return {"type": type(error).__name__, "message": str(error), **tokens}


def error_of(content: object) -> Exception:
    """Return the error that `error_content` made this of; one of another package by its name.

    Raises:
        ValueError: it was made of no error.
    """
    if isinstance(content, Exception):
        return content
    if not isinstance(content, dict) or not {"type", "message"} <= content.keys():
        raise ValueError("this is no error; an object with type and message was expected")
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
