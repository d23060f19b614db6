import type { NewWebhook, Webhook } from '../../api/webhook-queries';

/** A row of a form's names and values. */
export interface Pair {
  /** Stays the same while it is typed. */
  readonly key: number;
  readonly name: string;
  readonly value: string;
}

/** A webhook as it stands in a form: what can be left empty is an empty text then. */
export interface Draft {
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string;
  /** JSON, perhaps not yet whole. */
  readonly filter: string;
  readonly uid: string;
  readonly rateLimit: string;
  readonly maxConcurrency: string;
  readonly timeoutMs: string;
  /** Durations, separated by commas. */
  readonly retrySchedule: string;
  readonly isStrict: boolean;
  readonly headers: readonly Pair[];
  readonly metadata: readonly Pair[];
}

/** What the API shows in place of a header's value. */
export const MASK = '***';

export const emptyDraft: Draft = {
  url: '',
  events: ['*'],
  description: '',
  filter: '',
  uid: '',
  rateLimit: '',
  maxConcurrency: '',
  timeoutMs: '',
  retrySchedule: '',
  isStrict: false,
  headers: [],
  metadata: [],
};

export function draftOf(webhook: Webhook): Draft {
  const { url, events, description = '', filter, uid = '', ordering, headers, metadata } = webhook;
  return {
    url,
    events,
    description,
    filter: filter === undefined ? '' : JSON.stringify(filter, null, 2),
    uid,
    rateLimit: String(webhook.rate_limit ?? ''),
    maxConcurrency: String(webhook.max_concurrency ?? ''),
    timeoutMs: String(webhook.timeout_ms ?? ''),
    retrySchedule: (webhook.retry_schedule ?? []).join(', '),
    isStrict: ordering === 'strict',
    headers: pairsOf(headers),
    metadata: pairsOf(metadata),
  };
}

/** What a draft asks for. A filter that is no JSON stays the text that it is. */
export function bodyOf(draft: Draft): NewWebhook {
  const { url, events, description, filter, uid, rateLimit, maxConcurrency, timeoutMs, retrySchedule } =
    draft;
  return {
    url: url.trim(),
    events: [...events],
    ...(description !== '' && { description }),
    ...(filter.trim() !== '' && { filter: parse(filter) as NonNullable<NewWebhook['filter']> }),
    ...(uid !== '' && { uid }),
    ...(rateLimit !== '' && { rate_limit: Number(rateLimit) }),
    ...(maxConcurrency !== '' && { max_concurrency: Number(maxConcurrency) }),
    ...(timeoutMs !== '' && { timeout_ms: Number(timeoutMs) }),
    ...(retrySchedule.trim() !== '' && {
      retry_schedule: retrySchedule.split(',').map((delay) => delay.trim()),
    }),
    ...(draft.isStrict && { ordering: 'strict' as const }),
    ...recordOf('headers', draft.headers),
    ...recordOf('metadata', draft.metadata),
  };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

function pairsOf(record: Readonly<Record<string, string>> = {}): readonly Pair[] {
  return Object.entries(record).map(([name, value], key) => ({ key, name, value }));
}

/** Rows without a name are not there yet. */
function recordOf<Name extends string>(member: Name, pairs: readonly Pair[]) {
  const named = pairs.filter(({ name }) => name.trim() !== '');
  if (named.length === 0) return undefined;
  const record = Object.fromEntries(named.map(({ name, value }) => [name.trim(), value]));
  return { [member]: record } as Record<Name, Record<string, string>>;
}
