import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient } from './api-client';
import type { Receiver } from './receiver';
import { QUICK_WIN } from './samples';
import { until } from './until';

const FAR_BEHIND = 100;

/**
 * Publishes one event after the other as a producer does that must not lose any: each under an id of its own, again and again
 * until the API has accepted it. `accepted` is the ledger of those, in their order. It waits while a receiver is far behind:
 * on a busy machine one that gets its events one at a time would have more left in the end than a test has patience for.
 * The events are of some groups in turn: see `groupOf`.
 */
export function publishWithoutEnd(first: ApiClient, stem: string, pauseMs: number, slowest?: Receiver) {
  let client = first;
  const accepted: string[] = [];
  const stopping = new AbortController();
  const publishing = (async () => {
    for (let count = 0; !stopping.signal.aborted; count += 1) {
      const id = `${stem}-${String(count).padStart(6, '0')}`;
      await until(async () => (isFarBehind(slowest, count) ? undefined : true));
      await until(async () => await publish(client, id));
      accepted.push(id);
      await wait(pauseMs);
    }
  })();
  return {
    accepted,
    untilAccepted: async (count: number) => {
      await until(async () => (accepted.length >= count ? true : undefined));
    },
    goOnWith: (other: ApiClient) => {
      client = other;
    },
    stop: async () => {
      stopping.abort();
      await publishing;
    },
  };
}

/** Whether a receiver lacks so many of the events that were published that more are not to come yet. */
function isFarBehind(receiver: Receiver | undefined, published: number): boolean {
  return receiver !== undefined && published - receiver.requests.length > FAR_BEHIND;
}

/** By the last digit of its id. */
export function groupOf(id: string): string {
  return `group ${id.slice(-1)}`;
}

async function publish(client: ApiClient, id: string): Promise<true | undefined> {
  const event = { ...QUICK_WIN, id, group: groupOf(id) };
  const response = await client.request('POST', '/v1/events', event).catch(() => undefined);
  return response?.status === 202 || response?.status === 200 ? true : undefined;
}
