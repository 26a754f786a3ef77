"""`memory.documents`: the texts and conversations that memories came from."""

from __future__ import annotations

from itertools import islice

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import DocumentNotFoundError
from hindsight_integrations.models import Chunk, Document, Page
from hindsight_integrations.namespaces.forgetting import forget
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.results import Forgotten
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.stores.base import DOCUMENT, DOCUMENT_CHUNKS
from hindsight_integrations.stores.cursors import after_document, document_cursor
from hindsight_integrations.stores.reads import read_one


class Documents(Namespace):
    """The documents of a bank: each retained text or conversation is stored as one."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def get(self, bank_id: str, document_id: str) -> Document:
        """Return a document.

        Raises:
            BankNotFoundError, DocumentNotFoundError: there is no such bank, or document.
        """
        self._runtime.bank(bank_id)
        wanted = validation.label("document_id", document_id)
        found = read_one(self._runtime.graph, bank_id, DOCUMENT, wanted, None)
        if found is None:
            raise DocumentNotFoundError(
                f"bank {bank_id!r} has no document {wanted!r}; see documents.list({bank_id!r})"
            )
        return found

    def list(self, bank_id: str, *, limit: int = 50, cursor: str | None = None) -> Page[Document]:
        """Return a page of documents, sorted by id, including the records of conversations.

        Args:
            bank_id: which bank.
            limit: maximum documents per page, up to 1000.
            cursor: `next_cursor` of the previous page.

        Raises:
            InvalidInputError: an argument cannot be used, such as the cursor of another list.
            BankNotFoundError: there is no such bank.
        """
        self._runtime.bank(bank_id)
        limit = validation.page_limit(limit)
        after = after_document(validation.page_cursor(cursor))
        graph = self._runtime.graph
        rest = (d for d in graph.scan(bank_id, DOCUMENT) if d.id > after)
        items = [*islice(rest, limit + 1)]
        following = document_cursor(items[limit - 1].id) if len(items) > limit else None
        return Page(items[:limit], graph.bank_stats(bank_id).documents, following)

    def chunks(self, bank_id: str, document_id: str) -> tuple[Chunk, ...]:
        """Return the chunks that the text of a document was cut into, in order.

        Raises:
            BankNotFoundError, DocumentNotFoundError: there is no such bank, or document.
        """
        document = self.get(bank_id, document_id)
        return tuple(read_one(self._runtime.graph, bank_id, DOCUMENT_CHUNKS, document.id, ()))

    def delete(self, bank_id: str, document_id: str) -> Forgotten:
        """Delete a document permanently with the memories stated only in it; return their ids.

        The same as `Hindsight.forget(bank_id, document_id=...)`.

        Raises:
            BankNotFoundError, DocumentNotFoundError: there is no such bank, or document.
        """
        wanted = validation.label("document_id", document_id)
        return forget(self._runtime, bank_id, (), wanted)

    aget = async_variant(get)
    alist = async_variant(list)
    achunks = async_variant(chunks)
    adelete = async_variant(delete)
