"""What happens with each event, by its type. A handler that raises has the event sent again later."""

from __future__ import annotations

from hookferry import Event, ReceiverResponse, Router, abort


def add_handlers(router: Router) -> None:
    @router.on("order.created")
    def order_created(event: Event) -> ReceiverResponse | None:
        if not isinstance(event.data.get("id"), str):
            return abort()  # To send it again would not help.
        print(f"{event.id}: the order {event.data['id']} was created")
        return None

    @router.on("*")
    def anything_else(event: Event) -> None:
        print(f"{event.id}: nothing to do for {event.type}")
