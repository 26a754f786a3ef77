"""The verbs that reflect on what is remembered, or wait until it was reflected on."""

from __future__ import annotations

from hindsight_integrations import checks
from hindsight_integrations.asynchronous import twin
from hindsight_integrations.core import Core
from hindsight_integrations.reflect.consolidate import Consolidation


class Consolidating:
    """What `Hindsight` offers for consolidating."""

    _core: Core

    def consolidate(self, bank_id: str) -> Consolidation:
        """Draw observations from all that was not reflected on yet, and weigh it for opinions, now.

        It happens in the background after each retain, unless `settings.consolidate` is off; a
        second time over the same memories adds nothing. With an `llm` the model proposes, and
        what it proposes is checked before it is stored. Mental models that ask for it are
        refreshed afterwards.

        Raises:
            BankNotFoundError: there is no such bank.
            EmbeddingError, StoreError: it failed; what was stored until then stays. A model that
                fails is reported in `failures`, and its memories go on waiting.
        """
        core = self._core
        core.bank(checks.bank_id(bank_id))
        total = Consolidation(bank_id)
        for done in core.consolidations(bank_id):
            total += done
        return total

    def wait_idle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do in the background, also of what was left earlier.

        Args:
            timeout: seconds to wait at most.

        Returns:
            Whether all is done.
        """
        if timeout is not None:
            checks.seconds("timeout", timeout, zero=True)
        self._core.check_open()
        return self._core.worker.wait_idle(timeout)

    aconsolidate = twin(consolidate)
    await_idle = twin(wait_idle)
