/** The receivers of a run: one of each kind that the service treats in a way of its own. */

export interface EndpointSpec {
  readonly name: string;
  readonly events: readonly string[];
  /** How long its receiver takes to respond. */
  readonly respondsAfterMs: number;
  /** What is registered beside the URL and the events. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** The code that makes what is sent to it. */
  readonly code?: string;
  /** Whether its receiver refuses the first attempt of every third event. */
  readonly isFlaky?: boolean;
  /** Whether another account owns it, one that publishes nothing. */
  readonly isForeign?: boolean;
  /** Whether nothing but a fault keeps a delivery from being sent at once. */
  readonly isPrompt?: boolean;
}

/** Many of these are published, in any order. */
export const BULK_TYPE = 'keyword.quick_win';
/** The most of all: few endpoints want these. It is not in the catalogue, but added while the service runs. */
export const VOLUME_TYPE = 'stock.changed';
/** Fewer, and many at a time: a rate limit stops some of each volley, and has let all of it through before the next. */
export const SPARSE_TYPE = 'brief.created';
/** Each after the one before of its group was acknowledged. */
export const SEQUENTIAL_TYPE = 'import.completed';

/** The one that wants the volume. */
export const VOLUME_ENDPOINT = 'narrow';

const RATE_LIMIT_PER_SECOND = 20;
// More than the bulk, and less than what comes when something was broken and is mended.
const BULK_RATE_LIMIT_PER_SECOND = 100;
/** The endpoint that a run makes respond with 503 for a while. */
export const UNAVAILABLE = 'unavailable';

/** How the events of three of them go together in requests. */
export const BATCH = { max_events: 25, max_wait_ms: 300 };
/** How long the newest event of a group may come to go in place of older ones. */
export const COALESCE = { window_ms: 1_500 };
/** The endpoint whose events code makes. */
export const TRANSFORMED = 'transformed';

/** What it makes of an event would be something else each time, if it were made twice. */
export function codeOf(version: number): string {
  return `export default ({ type, data, attempt }) => ({
    body: { type, data: { ...data, version: ${version}, attempt, chance: Math.random() } },
  });`;
}

export const endpoints: readonly EndpointSpec[] = [
  { name: 'swift', events: ['keyword.*'], respondsAfterMs: 0, isPrompt: true },
  { name: 'steady', events: [BULK_TYPE], respondsAfterMs: 20, isPrompt: true },
  // Everything but the volume.
  {
    name: 'everything',
    events: ['keyword.*', 'brief.*', SEQUENTIAL_TYPE],
    respondsAfterMs: 5,
    isPrompt: true,
  },
  { name: VOLUME_ENDPOINT, events: [VOLUME_TYPE], respondsAfterMs: 2, isPrompt: true },
  { name: 'slow', events: [BULK_TYPE], respondsAfterMs: 300, isPrompt: true },
  { name: 'flaky', events: [SPARSE_TYPE], respondsAfterMs: 5, isFlaky: true },
  { name: UNAVAILABLE, events: [SPARSE_TYPE], respondsAfterMs: 5 },
  {
    name: 'rate-limited',
    events: [SPARSE_TYPE],
    respondsAfterMs: 0,
    options: { rate_limit: RATE_LIMIT_PER_SECOND },
  },
  {
    name: 'throttled',
    events: [BULK_TYPE],
    respondsAfterMs: 0,
    options: { rate_limit: BULK_RATE_LIMIT_PER_SECOND },
  },
  { name: 'batched', events: [BULK_TYPE], respondsAfterMs: 50, isFlaky: true, options: { batch: BATCH } },
  {
    name: 'batched-strict',
    events: [SEQUENTIAL_TYPE],
    respondsAfterMs: 20,
    options: { ordering: 'strict', batch: { ...BATCH, max_wait_ms: 2 * BATCH.max_wait_ms } },
  },
  { name: TRANSFORMED, events: [BULK_TYPE], respondsAfterMs: 20, isFlaky: true, code: codeOf(1) },
  { name: 'strict', events: [SEQUENTIAL_TYPE], respondsAfterMs: 2, options: { ordering: 'strict' } },
  {
    name: 'grouped',
    events: [SEQUENTIAL_TYPE],
    respondsAfterMs: 20,
    isFlaky: true,
    options: { ordering: 'group' },
  },
  {
    name: 'grouped-batched',
    events: [SEQUENTIAL_TYPE],
    respondsAfterMs: 20,
    options: { ordering: 'group', batch: BATCH },
  },
  {
    name: 'coalesced',
    events: [SEQUENTIAL_TYPE],
    respondsAfterMs: 20,
    isFlaky: true,
    options: { ordering: 'group', coalesce: COALESCE },
  },
  // An operational type that no run brings about: this endpoint asked for nothing that is published.
  { name: 'uninterested', events: ['webhook.disabled'], respondsAfterMs: 0 },
  { name: 'foreign', events: ['*'], respondsAfterMs: 0, isForeign: true },
];

/** Those that keep an order: an old event that is asked for once more would come after newer ones. */
export function namesOfOrdered(specs: readonly EndpointSpec[]): ReadonlySet<string> {
  return new Set(specs.filter(({ options }) => options?.ordering !== undefined).map(({ name }) => name));
}

/** The names of those that are to get events of this type. */
export function subscribersOf(type: string, specs: readonly EndpointSpec[]): readonly string[] {
  return specs
    .filter(({ events, isForeign }) => isForeign !== true && events.some((wish) => matches(wish, type)))
    .map(({ name }) => name);
}

function matches(wish: string, type: string): boolean {
  return wish === '*' || wish === type || (wish.endsWith('.*') && type.startsWith(wish.slice(0, -1)));
}
