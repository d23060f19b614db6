import type { QueryClient } from '@tanstack/react-query';
import { ask } from '../api/ask';
import type { Api } from '../api/client';
import { eventText } from '../api/delivery-queries';
import { ProblemError } from '../api/problem';
import { readAllWebhooks } from '../api/webhook-queries';

/** Something that was found, and where it is shown. */
export interface Place {
  readonly href: string;
  readonly kind: 'Event' | 'Webhook' | 'Event type';
  readonly name: string;
}

const EVENT_ID = /^[A-Za-z0-9_-]{1,128}$/;
const MOST_FOUND = 8;

/**
 * What has this id or this name of somebody's own, and webhooks and types of which it is a part: what is called
 * exactly that comes first.
 * @throws ProblemError when it can't be known
 */
export async function findPlaces(api: Api, queries: QueryClient, text: string): Promise<readonly Place[]> {
  const [event, webhooks, types] = await Promise.all([
    // The event's page shows what was read here.
    EVENT_ID.test(text) ? unlessMissing(queries.fetchQuery(eventText(api, text))) : undefined,
    findWebhooks(api, text),
    findTypes(api, text),
  ]);
  const found: readonly Place[] =
    event === undefined ? [] : [{ href: `/events/${text}`, kind: 'Event', name: text }];
  return [...found, ...webhooks, ...types].slice(0, MOST_FOUND);
}

async function findWebhooks(api: Api, text: string): Promise<readonly Place[]> {
  const wanted = text.toLowerCase();
  const all = (await readAllWebhooks(api)).map(({ id, uid, url, description }) => ({
    place: { href: `/webhooks/${id}`, kind: 'Webhook' as const, name: description || url },
    texts: [uid ?? '', url, description ?? ''].map((one) => one.toLowerCase()),
  }));
  const exact = all.filter(({ texts }) => texts.includes(wanted));
  const others = all.filter(
    ({ texts }) => !texts.includes(wanted) && texts.some((one) => one.includes(wanted)),
  );
  return (exact.length > 0 ? exact : others).map(({ place }) => place);
}

async function findTypes(api: Api, text: string): Promise<readonly Place[]> {
  const { data } = await ask(api.GET('/v1/event-types'));
  const names = data.map(({ name }) => name);
  const found = names.includes(text) ? [text] : names.filter((name) => name.includes(text.toLowerCase()));
  return found.map((name) => ({
    href: `/event-types/${encodeURIComponent(name)}`,
    kind: 'Event type',
    name,
  }));
}

async function unlessMissing<Data>(answer: Promise<Data>): Promise<Data | undefined> {
  return await answer.catch((error: unknown) => {
    if (error instanceof ProblemError && error.code === 'not_found') return undefined;
    throw error;
  });
}
