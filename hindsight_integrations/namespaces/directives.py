"""`memory.directives`: hard rules for reflection, each with a name and a priority."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from hindsight_integrations import validation
from hindsight_integrations.asynchronous import async_variant
from hindsight_integrations.errors import ConflictError, InvalidInputError, NotFoundError
from hindsight_integrations.models import Bank, Directive, utc_now
from hindsight_integrations.namespaces.namespace import Namespace
from hindsight_integrations.normalization import new_id
from hindsight_integrations.retain.request import digest
from hindsight_integrations.runtime import Runtime

MAX_DIRECTIVE = 20_000
"""Longest directive, in characters."""


class Directives(Namespace):
    """The directives of a bank, one by one.

    A directive is in force while its text is among `Bank.directives`. Texts given there without a
    name are listed here too.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def list(self, bank_id: str, *, active: bool | None = None) -> tuple[Directive, ...]:
        """Return the directives of a bank, highest priority first.

        Args:
            bank_id: which bank.
            active: True for those in force only, False for the others only, None for all.

        Raises:
            BankNotFoundError: there is no such bank.
        """
        bank = self._runtime.bank(bank_id).bank
        directives = _directives(bank)
        if active is None:
            return directives
        wanted = validation.flag("active", active)
        return tuple(d for d in directives if (d.text in bank.directives) == wanted)

    def get(self, bank_id: str, directive_id: str) -> Directive:
        """Return a directive.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or directive.
        """
        bank = self._runtime.bank(bank_id).bank
        return _find(bank, validation.label("directive_id", directive_id))

    def create(
        self, bank_id: str, name: str, text: str, *, priority: int = 0, active: bool = True
    ) -> Directive:
        """Add a directive to a bank.

        Args:
            bank_id: which bank; it must exist.
            name: what it is about.
            text: the rule.
            priority: a whole number; the highest comes first.
            active: False to store it without putting it in force.

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError: there is no such bank.
            ConflictError: the bank already has a directive with this text.
        """
        now = utc_now()
        made = _checked(Directive(new_id("d-"), name, text, priority, now, now))
        in_force = validation.flag("active", active)

        def added(bank: Bank) -> Bank:
            return _with_directives(bank, (*_directives(bank), made), {made.text: in_force})

        self._change(bank_id, added)
        return made

    def update(
        self,
        bank_id: str,
        directive_id: str,
        *,
        name: str | None = None,
        text: str | None = None,
        priority: int | None = None,
        active: bool | None = None,
    ) -> Directive:
        """Change the given fields of a directive; `active` puts it in force (True) or not (False).

        Raises:
            InvalidInputError: an argument cannot be used.
            BankNotFoundError, NotFoundError: there is no such bank, or directive.
            ConflictError: the bank has another directive with this text.
        """
        in_force = None if active is None else validation.flag("active", active)
        given = {"name": name, "text": text, "priority": priority}
        changes = {field: value for field, value in given.items() if value is not None}
        new: Directive | None = None

        def changed(bank: Bank) -> Bank:
            nonlocal new
            old = _find(bank, validation.label("directive_id", directive_id))
            new = _checked(replace(old, **changes, updated_at=utc_now()))  # type: ignore[arg-type]
            directives = [new if each.id == old.id else each for each in _directives(bank)]
            is_active = old.text in bank.directives if in_force is None else in_force
            return _with_directives(bank, directives, {old.text: False, new.text: is_active})

        self._change(bank_id, changed)
        assert new is not None
        return new

    def delete(self, bank_id: str, directive_id: str) -> None:
        """Delete a directive.

        Raises:
            BankNotFoundError, NotFoundError: there is no such bank, or directive.
        """

        def without(bank: Bank) -> Bank:
            deleted = _find(bank, validation.label("directive_id", directive_id))
            left = [each for each in _directives(bank) if each.id != deleted.id]
            return _with_directives(bank, left, {deleted.text: False})

        self._change(bank_id, without)

    def _change(self, bank_id: str, changed: Callable[[Bank], Bank]) -> None:
        stored = self._runtime.bank(bank_id)
        with self._runtime.lock(stored.key):
            self._runtime.graph.update_bank(bank_id, changed)

    alist = async_variant(list)
    aget = async_variant(get)
    acreate = async_variant(create)
    aupdate = async_variant(update)
    adelete = async_variant(delete)


def _directives(bank: Bank) -> tuple[Directive, ...]:
    """Return the directives of a bank with those given as texts alone, in order."""
    named = {each.text for each in bank.named_directives}
    texts = [
        Directive(f"d-{digest(text)}", text[:60], text, 0, bank.created_at, bank.created_at)
        for text in dict.fromkeys(bank.directives)
        if text not in named
    ]
    return _ordered((*bank.named_directives, *texts))


def _ordered(directives: Iterable[Directive]) -> tuple[Directive, ...]:
    """Return directives by priority, of equal ones the oldest first."""
    return tuple(sorted(directives, key=lambda each: (-each.priority, each.created_at)))


def _find(bank: Bank, directive_id: str) -> Directive:
    """Return the directive with this id. Raises `NotFoundError`."""
    for each in _directives(bank):
        if each.id == directive_id:
            return each
    raise NotFoundError(
        f"bank {bank.id!r} has no directive {directive_id!r}; see directives.list({bank.id!r})"
    )


def _with_directives(
    bank: Bank, directives: Iterable[Directive], is_active: Mapping[str, bool]
) -> Bank:
    """Return the bank with these directives; `is_active` sets which texts are in force.

    Other texts stay as they are.

    Raises:
        ConflictError: two directives have the same text.
    """
    ordered = _ordered(directives)
    texts = dict.fromkeys(each.text for each in ordered)
    if len(texts) < len(ordered):
        raise ConflictError(
            f"bank {bank.id!r} already has a directive with this text; update that one"
        )
    active = tuple(text for text in texts if is_active.get(text, text in bank.directives))
    return replace(bank, named_directives=ordered, directives=active, updated_at=utc_now())


def _checked(directive: Directive) -> Directive:
    priority = directive.priority
    if isinstance(priority, bool) or not isinstance(priority, int) or abs(priority) > 1_000_000:
        raise InvalidInputError(
            f"priority is {validation.shown(priority)}; give a whole number from -1000000 to "
            "1000000"
        )
    text = validation.text(directive.text, "a directive", most=MAX_DIRECTIVE)
    if validation.is_blank(text):
        raise InvalidInputError("the directive text is blank; write the rule")
    return replace(directive, name=validation.label("name", directive.name), text=text)
