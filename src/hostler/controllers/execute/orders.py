"""Orders: sends the order of hosts that a fleet's row names already, and notes the answer."""

import structlog
from msgspec.structs import replace

from hostler.controllers.runtime.leases import Tenure
from hostler.controllers.runtime.rate_limit import Priority
from hostler.controllers.runtime.settings import Ports
from hostler.controllers.runtime.state import AccountState
from hostler.domain.model.calls import Refusal, Refused
from hostler.domain.model.commands import Event, OrderHosts
from hostler.domain.model.phases import Reason
from hostler.domain.model.snapshot import Snapshot

from .evidence import EvidenceMaker
from .sending import Sender

log: structlog.stdlib.BoundLogger = structlog.get_logger("hostler.orders")


class Buyer:
    """Orders hosts for the fleets of one account."""

    def __init__(
        self, ports: Ports, state: AccountState, sender: Sender, evidence_maker: EvidenceMaker
    ) -> None:
        self._ports, self._state = ports, state
        self._sender, self._evidence_maker = sender, evidence_maker

    async def order(self, command: OrderHosts, snapshot: Snapshot, tenure: Tenure) -> None:
        """Send one order; what was refused is taken off the row again, and remembered.

        Of an order that is too large as much is sent as there is room for; the rest waits as long
        as what was refused.
        """
        refused = await self._send(command, snapshot, tenure)
        if refused is None:
            return
        fits, rest = command.orders[: refused.room], command.orders[refused.room :]
        reason = Reason.QUOTA if refused.why is Refusal.QUOTA else Reason.OUT_OF_STOCK
        await self._take_off(OrderHosts(orders=rest), snapshot, tenure, refused.text, reason)
        if fits:
            smaller = OrderHosts(orders=fits)
            refused_too = await self._send(smaller, snapshot, tenure)
            if refused_too is not None:
                await self._take_off(smaller, snapshot, tenure, refused_too.text)

    async def _send(
        self, command: OrderHosts, snapshot: Snapshot, tenure: Tenure
    ) -> Refused | None:
        """Send an order; return how it was refused, if it was."""
        if self._state.buys is None:
            return None
        call = self._state.buys.order(snapshot.fleet.name, command.orders)
        await self._sender.wait(call, Priority.MAKE)
        sent = await self._sender.send(
            call, lambda: self._evidence_maker.of_order(snapshot, tenure)
        )
        outcome = sent.outcome
        if sent.barred:
            return Refused(why=Refusal.NOT_SENT, text="; ".join(bar.text for bar in sent.barred))
        word = f"refused_{outcome.why}" if isinstance(outcome, Refused) else "done"
        log.warning("ordered", hosts=len(command.orders), outcome=word, cycle=snapshot.cycle)
        return outcome if isinstance(outcome, Refused) else None

    async def _take_off(
        self,
        command: OrderHosts,
        snapshot: Snapshot,
        tenure: Tenure,
        why: str,
        reason: Reason = Reason.OUT_OF_STOCK,
    ) -> None:
        """Write down that nothing was ordered, and leave the offer alone for a while."""
        row = self._state.rows.get(snapshot.fleet.name, snapshot.row)
        now, offer = self._ports.clock.now(), command.orders[0].offer
        ids = {order.id for order in command.orders}
        changed = replace(row, orders=tuple(order for order in row.orders if order.id not in ids))
        until = now + snapshot.fleet.timers.stock_memory
        changed = changed.sold_out(offer, why, until)
        notice = Event(
            kind="order_refused",
            at=now,
            fleet=snapshot.fleet.name,
            cycle=snapshot.cycle,
            reason=str(reason),
            detail=f"{len(ids)} of {offer}: {why}",
        )
        stored = await self._ports.store.save_fleet(changed, (), (notice,), tenure.fence)
        self._state.rows[stored.name] = stored
