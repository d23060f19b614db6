import type { components } from '@hookferry/client';
import type { InfiniteData, Query, QueryClient } from '@tanstack/react-query';
import { ProblemError } from '../api/problem';
import type { DeliveryChange, LiveMessage } from './live-message';

type Delivery = components['schemas']['Delivery'];
type Page = components['schemas']['DeliveryPage'];

/** Lists of deliveries, by the first word of their key. */
const LISTS = ['deliveries', 'event-deliveries'];

/** Brings what the cache has up to what a message says. */
export function updateQueries(queries: QueryClient, message: LiveMessage): void {
  switch (message.kind) {
    // Data read before the stream began may have changed meanwhile.
    case 'ready':
    case 'reset':
      void queries.invalidateQueries({ predicate: isReadAnew });
      return;
    case 'poll':
      // A read that is under way goes on: if each change began it again, it would never end.
      void queries.invalidateQueries(
        { predicate: (query) => isReadAnew(query) && !isBroken(query) },
        { cancelRefetch: false },
      );
      return;
    case 'delivery':
      // It may come after what followed it; a row that is there has been read since.
      if (message.change !== 'created') changeRows(queries, message.delivery);
      // The record of its attempts is more than a change tells.
      void queries.invalidateQueries({ queryKey: ['delivery', message.delivery.id] });
      return;
    case 'webhook':
      void queries.invalidateQueries({ predicate: isAbout('webhook', message.webhookId) });
      return;
    case 'replay':
      void queries.invalidateQueries({ predicate: isAbout('replay', message.replayId) });
      return;
  }
}

const isReadAnew = ({ meta }: Query) => meta?.keepsItsRows !== true;

/** The data could not be refreshed, so the page shows older ones. */
export const isOld = (query: Query) => isReadAnew(query) && isBroken(query) && query.state.data !== undefined;

/** It could not be read, last time, and may be a moment later. */
function isBroken({ state: { status, error } }: Query): boolean {
  return status === 'error' && error instanceof ProblemError && error.isPassing;
}

const isToWait = ({ state: { error } }: Query) => error instanceof ProblemError && error.isToWait;

/** Reads what could not be read, as soon as that works again, whether or not there is a stream of changes. */
export async function readBroken(queries: QueryClient): Promise<void> {
  const broken = queries.getQueryCache().findAll({
    type: 'active',
    // Rows that are being read would move.
    predicate: (query) =>
      isBroken(query) && !isToWait(query) && (isReadAnew(query) || query.state.data === undefined),
  });
  await Promise.all(broken.map((query) => readOnceItCan(queries, query)));
}

/** Tries it beside the cache first: there, each try would replace what the page says by what it shows while loading. */
async function readOnceItCan(queries: QueryClient, { queryKey, meta, options }: Query): Promise<void> {
  const { queryFn } = options;
  if (typeof queryFn !== 'function') return;
  const { signal } = new AbortController();
  const begin = {
    client: queries,
    queryKey,
    meta,
    signal,
    pageParam: undefined,
    direction: 'forward',
  } as const;
  const works = await Promise.resolve(queryFn(begin)).then(
    () => true,
    () => false,
  );
  if (works) await queries.invalidateQueries({ queryKey, exact: true });
}

/** Changes a delivery in every list that has it. */
export function changeRows(queries: QueryClient, change: DeliveryChange): void {
  for (const list of LISTS) {
    queries.setQueriesData({ queryKey: [list] }, (data: unknown) => withChange(data, change));
  }
}

/** The one, and every list of its kind. */
function isAbout(kind: string, id: string) {
  return ({ queryKey: [name, of] }: Query) => (name === kind && of === id) || name === `${kind}s`;
}

/** A list of deliveries in which one has changed; the same object if it has none such. */
function withChange(data: unknown, change: DeliveryChange): unknown {
  if (!isPaged(data)) return data;
  let isFound = false;
  const pages = data.pages.map((page) => {
    if (!page.data.some(({ id }) => id === change.id)) return page;
    isFound = true;
    return { ...page, data: page.data.map((row) => (row.id === change.id ? changed(row, change) : row)) };
  });
  return isFound ? { ...data, pages } : data;
}

function isPaged(data: unknown): data is InfiniteData<Page> {
  return typeof data === 'object' && data !== null && 'pages' in data;
}

function changed(row: Delivery, change: DeliveryChange): Delivery {
  // Attempts only ever become more. Of as many, the later one counts: a row is held, let go and redelivered between two.
  if (change.attempt_count !== undefined && change.attempt_count < row.attempt_count) return row;
  const known = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const after = { ...row, ...known };
  return after.status === 'held' ? after : { ...after, hold: null };
}
