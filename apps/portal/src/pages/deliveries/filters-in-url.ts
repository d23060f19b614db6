import type { AttemptOutcome, DeliveryFilters } from '../../api/delivery-queries';
import { faultOfSearch } from '../../components/searched-data';
import { fromLocalInput } from '../replay/range';
import { outcomes, statuses } from './words';

/** The filters of the page as texts, as they stand in its address and its form. '' is any. */
export interface FilterTexts {
  readonly status: string;
  readonly http: string;
  readonly outcome: string;
  readonly type: string;
  readonly webhook: string;
  /** A JSON object that the data of the events contain. */
  readonly data: string;
  /** Hours back from now, `custom` for since and until, or any time. */
  readonly range: string;
  /** RFC 3339, in UTC: an address means the same wherever it is opened. */
  readonly since: string;
  readonly until: string;
  /** Outcomes of any of the attempts, or `failed`, with commas between them. Only links set these three. */
  readonly attempt: string;
  /** When such an attempt began: RFC 3339, in UTC. */
  readonly attempted_since: string;
  readonly attempted_until: string;
}

const NAMES = [
  ...(['status', 'http', 'outcome', 'type', 'webhook', 'data', 'range', 'since', 'until'] as const),
  ...(['attempt', 'attempted_since', 'attempted_until'] as const),
] as const;

/** Stands for all outcomes but `delivered`. */
export const FAILED = 'failed';

export function readFilters(search: URLSearchParams): FilterTexts {
  const texts = Object.fromEntries(NAMES.map((name) => [name, search.get(name) ?? '']));
  const { since = '', until = '' } = texts;
  const [from, to] = [texts['attempted_since'], texts['attempted_until']].map(inUtc);
  // Addresses that were made before had no zone: those mean the viewer's.
  const times = {
    since: fromLocalInput(since) ?? '',
    until: fromLocalInput(until) ?? '',
    attempted_since: from,
    attempted_until: to,
  };
  return { ...texts, ...times } as Record<keyof FilterTexts, string>;
}

/** Only what is set: an address that somebody passes on is to be short. */
export function writeFilters(texts: FilterTexts): URLSearchParams {
  return new URLSearchParams(NAMES.filter((name) => texts[name] !== '').map((name) => [name, texts[name]]));
}

/** The filters. Invalid texts, as in an address that somebody typed, are ignored. */
export function filtersOf(texts: FilterTexts): DeliveryFilters {
  const { status, http, outcome, type, webhook, data, range } = texts;
  const hours = Number(range);
  return {
    ...(isKeyOf(statuses, status) && { status }),
    ...(isKeyOf(outcomes, outcome) && { outcome }),
    ...(isHttpCode(http) && { response_status: Number(http) }),
    ...(type !== '' && { event_type: type }),
    ...(webhook !== '' && { webhook_id: webhook }),
    ...(data !== '' && faultOfSearch(data) === undefined && { data }),
    ...(range !== '' && hours > 0 && { last_hours: hours }),
    ...(range === 'custom' && timesOf(texts)),
    ...attemptFiltersOf(texts),
  };
}

/** Those that any attempt of a delivery decides. */
function attemptFiltersOf({
  attempt,
  attempted_since: since,
  attempted_until: until,
}: Pick<FilterTexts, 'attempt' | 'attempted_since' | 'attempted_until'>): AttemptFilters {
  return {
    ...(since !== '' && { attempted_since: since }),
    ...(until !== '' && { attempted_until: until }),
    ...(attempt !== '' && attempt.split(',').every(isWay) && { attempt_outcome: attempt }),
  };
}

type AttemptFilters = Pick<DeliveryFilters, 'attempted_since' | 'attempted_until' | 'attempt_outcome'>;

/** Whether an attempt with this outcome is looked for. */
export function isWanted(asked: string, outcome: AttemptOutcome): boolean {
  return asked.split(',').some((way) => way === outcome || (way === FAILED && outcome !== 'delivered'));
}

const isWay = (text: string) => text === FAILED || isKeyOf(outcomes, text);

function inUtc(text = ''): string {
  const time = Date.parse(text);
  return Number.isNaN(time) ? '' : new Date(time).toISOString();
}

export const isHttpCode = (text: string) => /^[1-5]\d\d$/.test(text);

function timesOf({ since, until }: FilterTexts): Pick<DeliveryFilters, 'since' | 'until'> {
  return { ...(since !== '' && { since }), ...(until !== '' && { until }) };
}

function isKeyOf<Key extends string>(record: Readonly<Record<Key, unknown>>, key: string): key is Key {
  return Object.hasOwn(record, key);
}
