import type { ListedEvent, PublishedEvent } from '@webhooks/core/events/read-events';
import { formatTime } from '@webhooks/core/runtime/clock';

/** An event as it stands in a list: without its data. */
export function presentListedEvent({ id, type, createdAt }: ListedEvent) {
  return { id, type, created_at: formatTime(createdAt) };
}

/** An event read alone, as JSON text: its data is what was sent, byte for byte, which is lost by parsing it. */
export function presentEvent({ dataText, deliveries, ...event }: PublishedEvent): string {
  const rest = JSON.stringify({ ...presentListedEvent(event), deliveries });
  return `${rest.slice(0, -1)},"data":${dataText}}`;
}
