import { t } from '@lingui/core/macro';
import { ask } from '../api/ask';
import type { Api } from '../api/client';
import { allContacts } from '../api/contact-queries';
import { eventText, oneDelivery } from '../api/delivery-queries';
import type { ListedEvent } from '../api/event-queries';
import { ProblemError } from '../api/problem';
import { oneReplay } from '../api/replay-queries';
import { oneWebhook, readAllWebhooks } from '../api/webhook-queries';
import {
  findAuditEntry,
  findChangesOf,
  findInMessages,
  findKey,
  type Lookup,
  type Place,
} from './find-records';
import type { IdOf, Wanted } from './wanted-of';

const EVENT_ID = /^[A-Za-z0-9_-]{1,128}$/;
const ACCOUNT_ID = /^[A-Za-z0-9_-]{1,64}$/;
const DEAD_LETTER_ID = /^(events|deliveries|replays|erasures|events-dead-letters)\../;
const MOST_FOUND = 8;

/**
 * Objects with this id or `uid`, and webhooks and types that contain the text; exact matches come first. Objects
 * that the session may not see are not requested.
 * @throws ProblemError when it can't be known
 */
export async function findPlaces(
  lookup: Lookup,
  wanted: Exclude<Wanted, { kind: 'data' }>,
): Promise<readonly Place[]> {
  if (wanted.kind === 'name') return await findByName(lookup, wanted.text);
  const { of, id } = wanted;
  const found = await BY_ID[of](lookup, id);
  return found.length > 0 ? found : await findChangesOf(lookup, id);
}

/** A page shows what was read here. */
const BY_ID: Readonly<Record<IdOf, (lookup: Lookup, id: string) => Promise<readonly Place[]>>> = {
  delivery: async ({ api, queries }, id) =>
    await ifThere(queries.fetchQuery(oneDelivery(api, id)), t`Delivery`, 'deliveries', id),
  webhook: async ({ api, queries }, id) =>
    await ifThere(queries.fetchQuery(oneWebhook(api, id)), t`Webhook`, 'webhooks', id),
  event: findEvent,
  replay: async ({ api, queries }, id) =>
    await ifThere(queries.fetchQuery(oneReplay(api, id)), t`Replay`, 'replays', id),
  contact: findContact,
  message: findInMessages,
  auditEntry: findAuditEntry,
};

async function findByName(lookup: Lookup, text: string): Promise<readonly Place[]> {
  const { api, can } = lookup;
  const found = await Promise.all([
    EVENT_ID.test(text) ? findEvent(lookup, text) : [],
    findWebhooks(api, text),
    findTypes(api, text),
    findKey(lookup, text),
    can('operate') && ACCOUNT_ID.test(text) ? findAccount(api, text) : [],
    can('operate') && DEAD_LETTER_ID.test(text) ? findDeadLetter(api, text) : [],
  ]);
  return found.flat().slice(0, MOST_FOUND);
}

async function findEvent({ api, queries }: Lookup, id: string): Promise<readonly Place[]> {
  return await ifThere(queries.fetchQuery(eventText(api, id)), t`Event`, 'events', id, (text) => {
    const { type, created_at: at } = JSON.parse(text) as ListedEvent;
    return { note: type, at };
  });
}

async function findContact({ api, queries }: Lookup, id: string): Promise<readonly Place[]> {
  const contact = (await queries.fetchQuery(allContacts(api))).find((one) => one.id === id);
  return contact ? [{ href: `/contacts?row=${id}`, kind: t`Contact`, name: contact.target }] : [];
}

async function findAccount(api: Api, id: string): Promise<readonly Place[]> {
  return await ifThere(
    ask(api.GET('/v1/accounts/{id}', { params: { path: { id } } })),
    t`Account`,
    'accounts',
    id,
  );
}

async function findDeadLetter(api: Api, id: string): Promise<readonly Place[]> {
  const response = ask(api.GET('/v1/dead-letters/{id}', { params: { path: { id } }, parseAs: 'text' }));
  return await ifThere(response, t`Dead letter`, 'dead-letters', id);
}

async function findWebhooks(api: Api, text: string): Promise<readonly Place[]> {
  const wanted = text.toLowerCase();
  const all = (await readAllWebhooks(api)).map(({ id, uid, url, description, status, created_at: at }) => ({
    place: { href: `/webhooks/${id}`, kind: t`Webhook`, name: description || url, note: status, at },
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
    kind: t`Event type`,
    name,
  }));
}

async function ifThere<Found>(
  response: Promise<Found>,
  kind: string,
  folder: string,
  id: string,
  detailsOf: (found: Found) => Pick<Place, 'note' | 'at'> = () => ({}),
): Promise<readonly Place[]> {
  try {
    const found = await response;
    return [{ href: `/${folder}/${encodeURIComponent(id)}`, kind, name: id, ...detailsOf(found) }];
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'not_found') return [];
    throw error;
  }
}
