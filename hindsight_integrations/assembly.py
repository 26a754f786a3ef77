"""The runtime of a memory, built from the parts that its caller gives or chooses by name."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import Any

from hindsight_integrations.errors import InvalidInputError
from hindsight_integrations.nlp.encoders import encoder_for
from hindsight_integrations.nlp.llm import as_model
from hindsight_integrations.nlp.tokens import as_tokenizer
from hindsight_integrations.recall.dependencies import COMPUTE_SLOTS, SERVED_SLOTS
from hindsight_integrations.recall.rerankers import reranker_given
from hindsight_integrations.retain.extractors import extractor_for
from hindsight_integrations.retain.guard import as_guards
from hindsight_integrations.runtime import Runtime
from hindsight_integrations.settings import Settings
from hindsight_integrations.stores.base import EmbedderIdentity, GraphStore, VectorIndex
from hindsight_integrations.stores.importing import is_unfinished
from hindsight_integrations.stores.index_lease import IndexLease
from hindsight_integrations.stores.servers import IN_MEMORY, embedded_in, open_stores

log = logging.getLogger("hindsight_integrations")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of `Hindsight`, which documents them."""

    path: str | os.PathLike[str] | None
    graph: GraphStore | str | None
    vectors: VectorIndex | str | None
    embedder: object | None
    reranker: object | None
    extractor: object | None
    llm: object | None
    settings: Settings
    before_retain: object | None = None

    @property
    def is_embedded(self) -> bool:
        """Return True for a folder with all of its parts."""
        return embedded_in(self.path) and self.graph is None and self.vectors is None

    @property
    def outlives_fork(self) -> bool:
        """Return True if all of it can be opened once more beside those who have it open."""
        graph = isinstance(self.graph, str) or (self.graph is None and embedded_in(self.path))
        return graph and isinstance(self.vectors, str)

    def as_dict(self) -> dict[str, Any]:
        """Return the arguments by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check_picklable(self) -> None:
        """Raise `InvalidInputError` for a memory that exists in this process alone."""
        if self.path == IN_MEMORY and not self.outlives_fork:
            raise InvalidInputError(
                "an in-memory client cannot be pickled or copied, because the copy would be "
                "another memory; give it a folder, as in Hindsight('./memories')"
            )


def assemble(given: Arguments) -> tuple[str, Runtime]:
    """Build the runtime; return a description of where the memory is, and the runtime.

    Raises:
        InvalidInputError: the parts given do not make a memory.
        StoreError: a store cannot be opened.
    """
    if given.path is None and (given.graph is None or given.vectors is None):
        raise InvalidInputError(
            "nowhere to store memories; give a folder, as in Hindsight('./memories'), or call "
            "Hindsight.in_memory()"
        )
    settings = given.settings
    is_embedded = given.graph is None and given.vectors is None
    encoder = encoder_for(given.embedder, settings.models_path)
    tokenizer = as_tokenizer("cl100k_base")
    model = None if given.llm is None else as_model(given.llm)
    # A part that cannot be used is refused before any store is opened.
    extractor_for(given.extractor, model, settings, tokenizer)
    reranker_given(given.reranker)
    as_guards(given.before_retain)
    with ExitStack() as opened:
        where, store, index = open_stores(
            given.path, given.graph, given.vectors, opened, durable=settings.durable
        )
        index_lease = IndexLease(store, index, exclusive=is_embedded)
        opened.callback(index_lease.release)
        replaced = index_lease.renew()
        runtime = Runtime(
            graph=store,
            index=index,
            index_lease=index_lease,
            encoder=encoder,
            extractor=given.extractor,
            tokenizer=tokenizer,
            settings=settings,
            reranker=given.reranker,
            model=model,
            before_retain=given.before_retain,
            release=opened.pop_all().close,
            computing=threading.Semaphore(COMPUTE_SLOTS if is_embedded else SERVED_SLOTS),
        )
    try:
        if given.is_embedded:
            _remove_unfinished_imports(runtime)
        runtime.bring_in_step(shared=isinstance(given.vectors, str), replaced=replaced)
        runtime.purge_deleted()  # left by a deletion that was interrupted
        runtime.reflect_on_leftovers()
    except BaseException:
        index_lease.release()  # nobody will close it
        raise
    return where, runtime


def _remove_unfinished_imports(runtime: Runtime) -> None:
    """Delete what imports stored that ended with their process; this one owns the folder."""
    for left in runtime.graph.list_banks(importing=True):
        if not is_unfinished(left):
            log.warning(
                "bank %r is wrongly marked as an interrupted import: run the doctor",
                left.bank.id,
            )
            continue
        runtime.delete_bank(left)
        log.warning(
            "the remains of an interrupted import of bank %r were removed: import it again",
            left.importing,
        )


def embedder_identity(embedder: object | None, settings: Settings) -> EmbedderIdentity:
    """Return the identity of an embedder, as it is given to `Hindsight`."""
    chosen = encoder_for(embedder, settings.models_path).embedder
    return EmbedderIdentity(chosen.id, chosen.dimension)
