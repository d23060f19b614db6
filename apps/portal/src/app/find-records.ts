import { decodeTime } from '@hookferry/core/platform/id-time';
import type { QueryClient } from '@tanstack/react-query';
import { ask } from '../api/ask';
import type { Api } from '../api/client';
import { type Page, pagesOf } from '../api/use-pages';
import type { Capability } from '../session/session';

/** The session's client, and the text to look for. */
export interface Lookup {
  readonly api: Api;
  readonly queries: QueryClient;
  readonly can: (capability: Capability) => boolean;
  /** The session's own account. */
  readonly ownAccount: string;
  readonly accountInView: string;
}

/** Something that was found, and where it is shown. */
export interface Place {
  readonly href: string;
  readonly kind: string;
  readonly name: string;
  /** Its type, its state: to tell it from others. */
  readonly note?: string;
  /** When it came: RFC 3339. */
  readonly at?: string;
}

/** Of an API key or a portal session. */
const KEY_ID = /^[0-9a-z]{16}$/;
const LARGEST_PAGE = 200;
// RFC 3339 ends there, which an id that somebody made up need not.
const YEAR_10000_MS = 253_402_300_800_000;

/** A message to a contact: the newest of an account are kept, and nothing but their list has them. */
export async function findInMessages({ api }: Lookup, id: string): Promise<readonly Place[]> {
  const isThere = await isAmong(id, (paging) =>
    ask(api.GET('/v1/notifications', { params: { query: { limit: LARGEST_PAGE, ...paging } } })),
  );
  return isThere ? [{ href: `/contacts/notifications?row=${id}`, kind: 'Message', name: id }] : [];
}

/** An entry's id says when it was recorded: its log is narrowed to that millisecond. */
export async function findAuditEntry(lookup: Lookup, id: string): Promise<readonly Place[]> {
  const at = decodeTime(id.slice(id.indexOf('_') + 1));
  if (!lookup.can('audit') || at >= YEAR_10000_MS) return [];
  const [since, until] = [at, at + 1].map((ms) => new Date(ms).toISOString());
  const times = { since: since ?? '', until: until ?? '' };
  const isThere = await isAmong(id, (paging) =>
    readLog(lookup, { ...times, limit: LARGEST_PAGE, ...paging }),
  );
  const search = new URLSearchParams({ ...times, ...widestLog(lookup), row: id });
  return isThere ? [{ href: `/audit-log?${search}`, kind: 'Audit entry', name: id }] : [];
}

/** The audit log's entries about an object, which may be gone. */
export async function findChangesOf(lookup: Lookup, id: string): Promise<readonly Place[]> {
  return await findInLog(lookup, 'target', id);
}

/** An API key of the account in view, for those who see its keys; else what was done by it, as by a session. */
export async function findKey(lookup: Lookup, id: string): Promise<readonly Place[]> {
  const { api, can, accountInView } = lookup;
  if (!KEY_ID.test(id)) return [];
  const isKey =
    can('operate') &&
    (await isAmong(id, (paging) =>
      ask(api.GET('/v1/api-keys', { params: { query: { limit: LARGEST_PAGE, ...paging } } })),
    ));
  if (!isKey) return await findInLog(lookup, 'actor', id);
  return [{ href: `/accounts/${accountInView}?row=${id}`, kind: 'API key', name: id }];
}

async function findInLog(lookup: Lookup, by: 'actor' | 'target', id: string): Promise<readonly Place[]> {
  if (!lookup.can('audit')) return [];
  const { data } = await readLog(lookup, { [by]: id, limit: 1 });
  const search = new URLSearchParams({ [by]: id, ...widestLog(lookup) });
  return data.length > 0 ? [{ href: `/audit-log?${search}`, kind: 'Audit log', name: id }] : [];
}

interface LogQuery {
  readonly [filter: string]: string | number;
}

function readLog({ api, can, ownAccount }: Lookup, query: LogQuery) {
  if (!can('operate')) return ask(api.GET('/v1/audit-log', { params: { query } }));
  // Nobody sees all accounts on behalf of another one.
  const header = { 'X-Account-Id': ownAccount };
  return ask(api.GET('/v1/audit-log', { params: { query: { ...query, account_id: '*' }, header } }));
}

/** As the page of the log has it in its address. */
function widestLog({ can }: Lookup): Readonly<Record<string, string>> {
  return can('operate') ? { accounts: 'all' } : {};
}

async function isAmong(
  id: string,
  load: (paging: { readonly cursor?: string }) => Promise<Page<{ readonly id: string }>>,
): Promise<boolean> {
  for await (const { data } of pagesOf(load)) if (data.some((one) => one.id === id)) return true;
  return false;
}
