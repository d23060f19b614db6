import type { QueryClient } from '@tanstack/react-query';
import { ask } from '../../api/ask';
import type { Api } from '../../api/client';
import { eventText } from '../../api/delivery-queries';
import { ProblemError } from '../../api/problem';
import { placeOfId } from './place-of-id';

const EVENT_ID = /^[A-Za-z0-9_-]{1,128}$/;
const WEBHOOK_UID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;

/**
 * Where what has this id is shown, or this name of somebody's own: an event's before a webhook's. undefined: there is none.
 * @throws ProblemError when it can't be known
 */
export async function findPlace(api: Api, queries: QueryClient, text: string): Promise<string | undefined> {
  const name = text.trim();
  const place = placeOfId(name);
  if (place !== undefined) return place;
  // The event's page shows what was read here.
  const event = EVENT_ID.test(name) && (await unlessMissing(queries.fetchQuery(eventText(api, name))));
  if (event) return `/events/${name}`;
  if (!WEBHOOK_UID.test(name)) return undefined;
  const webhook = await unlessMissing(ask(api.GET('/v1/webhooks/{id}', { params: { path: { id: name } } })));
  return webhook && `/webhooks/${webhook.id}`;
}

async function unlessMissing<Data>(answer: Promise<Data>): Promise<Data | undefined> {
  return await answer.catch((error: unknown) => {
    if (error instanceof ProblemError && error.code === 'not_found') return undefined;
    throw error;
  });
}
