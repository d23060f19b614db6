import type { AccountId } from '../../domain/account';
import { deliveryIdOf } from '../../domain/delivery';
import type { EventId } from '../../domain/event';
import type { EventMark } from '../../events/redis-event-index';
import { formatTime } from '../../platform/clock';
import {
  ACCEPTED,
  addHistogram,
  countAttempt,
  GRAIN_MS,
  type Histogram,
  isDeciding,
  isOfSchedule,
  type MovedRollups,
  type MovedRollupsQuery,
  newCounts,
  type Rollup,
  type RollupCounts,
  type RollupDimension,
} from '../rollups';
import { type AttemptColumns, type DeliveryRows, deliveryKeyOf, type EventRow, toLog } from './history-rows';
import type { PgDatabase } from './pg-database';

const COLUMNS =
  'start, attempts, delivered, retried, exhausted, keep_days, grain, dimension, account_id, value, durations, lags';

interface RollupPlace {
  readonly start: string;
  readonly keep_days: number;
  readonly grain: string;
  readonly dimension: string;
  readonly account_id: string;
  readonly value: string;
}

/** The numbers to add to a row of `webhook_rollups`. */
interface RollupRow extends RollupPlace {
  readonly attempts: number;
  readonly delivered: number;
  readonly retried: number;
  readonly exhausted: number;
  readonly durations: readonly number[];
  readonly lags: readonly number[];
}

/** Its parameter is the rows, as JSON. */
export const ADD_ROLLUPS = `
  INSERT INTO webhook_rollups (${COLUMNS}) SELECT ${COLUMNS} FROM json_populate_recordset(null::webhook_rollups, $1)
  ON CONFLICT (account_id, grain, dimension, start, value, keep_days) DO UPDATE SET
    attempts = webhook_rollups.attempts + EXCLUDED.attempts,
    delivered = webhook_rollups.delivered + EXCLUDED.delivered,
    retried = webhook_rollups.retried + EXCLUDED.retried,
    exhausted = webhook_rollups.exhausted + EXCLUDED.exhausted,
    durations = webhook_add_counts(webhook_rollups.durations, EXCLUDED.durations),
    lags = webhook_add_counts(webhook_rollups.lags, EXCLUDED.lags)`;

const BUCKET = 2 ** 32;

/** The numbers to add for deliveries of the same rollup. */
interface Group {
  readonly accountId: string;
  readonly keepDays: number;
  /** Its minute. */
  readonly start: number;
  readonly values: Readonly<Partial<Record<RollupDimension | typeof ACCEPTED, string>>>;
  readonly counts: RollupCounts;
}

/** Adds up what deliveries add to the rollups, and what they take away that were there before. */
export class RollupSums {
  readonly #groups = new Map<string, Group>();

  add(rows: DeliveryRows): void {
    this.#note(rows, 1);
  }

  /** One that was not there before. */
  addEvent({ account_id: accountId, keep_days: keepDays, accepted_at: acceptedAt, type }: EventRow): void {
    const name = `${accountId} ${keepDays} ${type}`;
    const values = { [ACCEPTED]: type };
    this.#countsAt(name, { accountId, keepDays, values }, Date.parse(acceptedAt)).attempts += 1;
  }

  /** They were added before, with all that they had then. */
  takeBack(rows: DeliveryRows): void {
    this.#note(rows, -1);
  }

  /** In the order of the key: those that write at the same time don't wait for each other in a circle. */
  rows(): readonly RollupRow[] {
    const sums = new Map<string, RollupPlace & RollupCounts>();
    for (const group of this.#groups.values()) {
      for (const [grain, lengthMs] of Object.entries(GRAIN_MS)) {
        const start = formatTime(Math.floor(group.start / lengthMs) * lengthMs);
        for (const [dimension, value] of Object.entries(group.values)) {
          const place = {
            account_id: group.accountId,
            grain,
            dimension,
            start,
            value,
            keep_days: group.keepDays,
          };
          const name = Object.values(place).join(' ');
          const sum = sums.get(name) ?? { ...place, ...newCounts() };
          sums.set(name, sum);
          addCounts(sum, group.counts);
        }
      }
    }
    const inOrder = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum);
    return inOrder.flatMap((sum) => {
      const [durations, lags] = [entriesOf(sum.durations), entriesOf(sum.lags)];
      const { attempts, delivered, retried, exhausted } = sum;
      const isNothing = ![attempts, delivered, retried, exhausted, ...durations, ...lags].some(Boolean);
      return isNothing ? [] : { ...sum, durations, lags };
    });
  }

  #note({ delivery, attempts }: DeliveryRows, sign: 1 | -1): void {
    const acceptedAt = Date.parse(delivery.accepted_at);
    const firstTrigger = attempts.find(({ number }) => number === 1)?.trigger;
    for (const { started_at, duration_ms: durationMs, number, outcome, round } of attempts) {
      const startedAt = Date.parse(started_at);
      const counts = this.#countsOf(delivery, startedAt, outcome);
      const counted = {
        startedAt,
        durationMs,
        number,
        outcome,
        isOfSchedule: isOfSchedule(round, firstTrigger),
      };
      countAttempt(counts, counted, acceptedAt, sign);
    }
    if (delivery.status !== 'exhausted') return;
    const last = attempts.findLast((one) => isDeciding({ ...one, isLate: one.is_late === true }));
    if (last) this.#countsOf(delivery, Date.parse(last.started_at), last.outcome).exhausted += sign;
  }

  #countsOf(delivery: DeliveryRows['delivery'], at: number, outcome: string): RollupCounts {
    const { account_id: accountId, keep_days: keepDays, webhook_id, type } = delivery;
    const name = `${accountId} ${keepDays} ${webhook_id} ${type} ${outcome}`;
    const values = { webhook_id, event_type: type, outcome };
    return this.#countsAt(name, { accountId, keepDays, values }, at);
  }

  #countsAt(of: string, group: Omit<Group, 'start' | 'counts'>, at: number): RollupCounts {
    const start = Math.floor(at / GRAIN_MS['1m']) * GRAIN_MS['1m'];
    const name = `${start} ${of}`;
    const known = this.#groups.get(name);
    if (known) return known.counts;
    const counts = newCounts();
    this.#groups.set(name, { ...group, start, counts });
    return counts;
  }
}

function addCounts(sum: RollupCounts, added: RollupCounts): void {
  sum.attempts += added.attempts;
  sum.delivered += added.delivered;
  sum.retried += added.retried;
  sum.exhausted += added.exhausted;
  addHistogram(sum.durations, added.durations);
  addHistogram(sum.lags, added.lags);
}

/** How the array of a row has them: an entry is a bucket times 2^32, and how many more are in it, modulo 2^32. */
function entriesOf(counts: Histogram): number[] {
  return [...counts]
    .filter(([, times]) => times !== 0)
    .map(([bucket, times]) => bucket * BUCKET + (times < 0 ? BUCKET + times : times));
}

function histogramOf(entries: readonly number[]): Histogram {
  const histogram = new Map<number, number>();
  for (const entry of entries) {
    const bucket = Math.floor(entry / BUCKET);
    histogram.set(bucket, entry - bucket * BUCKET);
  }
  return histogram;
}

// One statement: rollups and logs are of the same moment. All comes as JSON: the driver reads arrays a tenth as fast.
const READ_ROLLUPS = `
  SELECT (
    SELECT json_agg(json_build_array(extract(epoch FROM r.start), r.value, r.attempts, r.delivered, r.retried, r.exhausted,
      r.durations, r.lags))
    FROM (
      SELECT p.* FROM webhook_retentions AS k, LATERAL (
        SELECT start, value, attempts, delivered, retried, exhausted, durations, lags FROM webhook_rollups
        WHERE account_id = $1 AND grain = $2 AND dimension = $3 AND start >= $4::timestamptz AND start < $5::timestamptz
          AND keep_days = k.keep_days AND attempts > 0 AND ($8::text IS NULL OR value = $8)
        ORDER BY start, value LIMIT $6
      ) AS p ORDER BY p.start, p.value
    ) AS r
  ) AS rollups, (
    SELECT json_agg(json_build_array(g.place, d.other_lines, d.attempts))
    FROM json_to_recordset($7) AS g(place int, accepted_at timestamptz, delivery_key bigint),
      webhook_retentions AS k, LATERAL (
        SELECT d.other_lines, (
          SELECT json_agg(json_build_object('position', a.position, 'number', a.number, 'started_at', a.started_at,
            'duration_ms', a.duration_ms, 'outcome', a.outcome, 'status', a.status, 'trigger', a.trigger, 'is_late', a.is_late, 'round', a.round,
            'next_attempt_at', a.next_attempt_at))
          FROM webhook_attempts AS a WHERE (a.account_id, a.accepted_at, a.delivery_key, a.keep_days)
            = (d.account_id, d.accepted_at, d.delivery_key, d.keep_days)
        ) AS attempts
        FROM webhook_deliveries AS d WHERE d.account_id = $1 AND d.accepted_at = g.accepted_at
          AND d.delivery_key = g.delivery_key AND d.keep_days = k.keep_days
      ) AS d
  ) AS known`;

type ReadRollup = readonly [
  start: number,
  value: string,
  attempts: number,
  delivered: number,
  retried: number,
  exhausted: number,
  durations: readonly number[],
  lags: readonly number[],
];

type ReadLog = readonly [
  place: number,
  other_lines: string,
  attempts: readonly Pick<AttemptColumns, keyof typeof COUNTED>[] | null,
];

// Only the counted members of an attempt are read.
const COUNTED = {
  position: 0,
  number: 0,
  started_at: '',
  duration_ms: 0,
  outcome: '',
  status: '',
  trigger: '',
  is_late: null,
  round: null,
  next_attempt_at: null,
};
const UNCOUNTED = {
  worker: null,
  remote_address: null,
  holds: null,
  dns_ms: null,
  connect_ms: null,
  tls_ms: null,
  first_byte_ms: null,
  added_headers: null,
  content_headers: null,
  transform_version: null,
  batch_id: null,
  token_status: null,
  token_error: null,
  response_status: null,
  response_headers: null,
  response_body: null,
  error: null,
  trace: null,
  exact: null,
};

const READ_KNOWN = `
  SELECT DISTINCT e.event_id FROM json_to_recordset($2) AS g(event_id text, accepted_at timestamptz)
  CROSS JOIN webhook_retentions AS k
  JOIN webhook_events AS e ON e.account_id = $1 AND e.event_id = g.event_id AND e.accepted_at = g.accepted_at
    AND e.keep_days = k.keep_days`;

/** The rollups of the history, as its readers see them. */
export class PgRollups {
  constructor(private readonly database: PgDatabase) {}

  /**
   * By their start, and then their value. What is kept for different times may come in two rollups of the same
   * start and value.
   *
   * @throws AppError `history_unavailable`.
   */
  async read({
    accountId,
    grain,
    dimension,
    value,
    since,
    until,
    limit,
    recent,
  }: MovedRollupsQuery): Promise<MovedRollups> {
    const keys = recent.map(({ eventId, endpointId, createdAt }, place) => ({
      place,
      accepted_at: formatTime(createdAt),
      delivery_key: deliveryKeyOf(deliveryIdOf({ eventId, endpointId })),
    }));
    const times = [since, until].map(formatTime);
    const values = [accountId, grain, dimension, ...times, limit, JSON.stringify(keys), value ?? null];
    const [row] = await this.database.read<{
      readonly rollups: readonly ReadRollup[] | null;
      readonly known: readonly ReadLog[] | null;
    }>({ name: 'read-rollups', text: READ_ROLLUPS, values });
    const logs = new Map((row?.known ?? []).map(([place, ...parts]) => [place, logOf(...parts)]));
    return {
      rollups: (row?.rollups ?? []).map(rollupOf),
      logs: recent.map((_one, place) => logs.get(place)),
    };
  }

  /** Which of these events of an account are there. @throws AppError `history_unavailable`. */
  async known(accountId: AccountId, events: readonly EventMark[]): Promise<ReadonlySet<EventId>> {
    const given = events.map(({ eventId, createdAt }) => ({
      event_id: eventId,
      accepted_at: formatTime(createdAt),
    }));
    const rows = await this.database.read<{ readonly event_id: EventId }>({
      name: 'read-known-events',
      text: READ_KNOWN,
      values: [accountId, JSON.stringify(given)],
    });
    return new Set(rows.map((row) => row.event_id));
  }
}

function rollupOf([start, value, ...counts]: ReadRollup): Rollup {
  const [attempts, delivered, retried, exhausted, durations, lags] = counts;
  return {
    start: start * 1_000,
    value,
    attempts,
    delivered,
    retried,
    exhausted,
    durations: histogramOf(durations),
    lags: histogramOf(lags),
  };
}

function logOf(otherLines: string, attempts: ReadLog[2]): string {
  const columns = (attempts ?? []).map((attempt) => ({ ...UNCOUNTED, ...attempt }));
  return toLog({ type: '', other_lines: otherLines }, columns);
}
