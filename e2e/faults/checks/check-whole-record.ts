import type { ApiClient } from '../../support/api-client';
import { askPatiently } from '../ask-patiently';
import type { RecordedDelivery } from '../ledger';
import type { RegisteredEndpoint } from '../register-endpoints';
import { findRepeated } from './check-record';
import { type Finding, toFindings } from './finding';

/** A delivery, by whatever the API tells of it. */
export interface Told {
  readonly key: string;
  readonly status: string;
  readonly attempts: number;
}

interface Page {
  readonly data: readonly {
    readonly event_id: string;
    readonly webhook_id: string;
    readonly status: string;
    readonly attempt_count: number;
  }[];
  readonly next_cursor?: string | null;
}

interface ExportedLine {
  readonly event_id: string;
  readonly webhook_id: string;
  readonly status: string;
  readonly attempt: { readonly number: number };
}

/**
 * Whether all that the API has of the account agrees: the list of all deliveries and the export of all attempts with the lists
 * of the webhooks. To be asked when nothing is broken any more, and nothing happens.
 */
export async function checkWholeRecord(
  client: ApiClient,
  registered: readonly RegisteredEndpoint[],
  recorded: readonly RecordedDelivery[],
): Promise<readonly Finding[]> {
  const own = registered.filter(({ spec }) => spec.isForeign !== true);
  const idOf = new Map(own.map(({ spec, webhookId }) => [spec.name, webhookId]));
  const expected = recorded.flatMap(({ endpoint, eventId, status, attemptCount }) => {
    const webhookId = idOf.get(endpoint);
    return webhookId === undefined
      ? []
      : [{ key: `${eventId} at ${webhookId}`, status, attempts: attemptCount }];
  });
  const [listed, exported] = [await readList(client), await readExport(client)];
  return [
    ...toFindings('listed more than once among all', findRepeated(listed.map(({ key }) => key))),
    ...toFindings('listed otherwise among all', differences(expected, listed)),
    ...toFindings('an attempt exported more than once', findRepeated(exported.map(nameOf))),
    ...toFindings(
      'exported otherwise',
      differences(
        expected.filter(({ attempts }) => attempts > 0),
        countAttempts(exported),
      ),
    ),
  ];
}

/** All deliveries of the account, as one list has them. */
export async function readList(client: ApiClient): Promise<readonly Told[]> {
  const told: Told[] = [];
  let cursor: string | null | undefined;
  do {
    const page = cursor ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const { body } = await askPatiently<Page>(client, 200, 'GET', `/v1/deliveries?limit=200${page}`);
    for (const { event_id, webhook_id, status, attempt_count } of body.data) {
      told.push({ key: `${event_id} at ${webhook_id}`, status, attempts: attempt_count });
    }
    cursor = body.next_cursor;
  } while (cursor);
  return told;
}

async function readExport(client: ApiClient): Promise<readonly ExportedLine[]> {
  const response = await client.fetch('/v1/deliveries/export');
  if (!response.ok) throw new Error(`The export gave ${response.status}.`);
  const text = await response.text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ExportedLine);
}

function countAttempts(lines: readonly ExportedLine[]): readonly Told[] {
  const counts = new Map<string, Told>();
  for (const { event_id, webhook_id, status } of lines) {
    const key = `${event_id} at ${webhook_id}`;
    counts.set(key, { key, status, attempts: (counts.get(key)?.attempts ?? 0) + 1 });
  }
  return [...counts.values()];
}

function nameOf({ event_id, webhook_id, attempt }: ExportedLine): string {
  return `${event_id} at ${webhook_id} #${attempt.number}`;
}

function differences(expected: readonly Told[], found: readonly Told[]): readonly string[] {
  const left = new Map(found.map((told) => [told.key, told]));
  const missing = expected.flatMap((one) => {
    const other = left.get(one.key);
    left.delete(one.key);
    const isSame = other?.status === one.status && other.attempts === one.attempts;
    return isSame ? [] : [`${describe(one)}; ${other ? describe(other) : 'not there'}`];
  });
  return [...missing, ...[...left.values()].map((told) => `${describe(told)}; in no list of a webhook`)];
}

function describe({ key, status, attempts }: Told): string {
  return `${key}: ${status} after ${attempts} attempts`;
}
