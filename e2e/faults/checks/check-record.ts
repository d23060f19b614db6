import {
  type AcknowledgedEvent,
  groupByPair,
  isAccepted,
  type Ledger,
  pairOf,
  type ReceivedRequest,
  type RecordedDelivery,
} from '../ledger';
import { countHits } from './fault-hits';
import { type Finding, toFindings } from './finding';

const UNENDED = new Set(['pending', 'held']);

export function isUnended({ status }: RecordedDelivery): boolean {
  return UNENDED.has(status);
}

/** Whether the API tells what happened: as both ledgers have it, once, and with an end to everything. */
export function checkRecord({
  acknowledged,
  requests,
  recorded,
  faults = [],
}: Pick<Ledger, 'acknowledged' | 'requests' | 'recorded'> &
  Partial<Pick<Ledger, 'faults'>>): readonly Finding[] {
  const records = new Map(recorded.map((record) => [keyOf(record), record]));
  const unended = recorded.filter(isUnended);
  const ends = endsOf(requests, acknowledged);
  const untold = ends.filter((end) => records.get(keyOf(end))?.status !== 'delivered');
  // The number in a request with several events is that of its first one.
  const shared = new Set(findRepeated(requests.map(({ requestId }) => requestId)));
  const undisturbed = [...groupByPair(requests).values()].filter(
    (group) =>
      group.some(isAccepted) &&
      countHits(faults, group) === 0 &&
      !group.some(({ requestId }) => shared.has(requestId)),
  );
  const miscounted = undisturbed.filter((group) => {
    const [first] = group;
    const known = first && records.get(keyOf(first));
    return known !== undefined && known.attemptCount > lastAttemptOf(group);
  });
  const uncounted = ends.filter(
    (end) => !shared.has(end.requestId) && (records.get(keyOf(end))?.attemptCount ?? 0) < end.attempt,
  );
  const accepted = new Set(requests.filter(isAccepted).map(keyOf));
  const imagined = recorded.filter((record) => record.status === 'delivered' && !accepted.has(keyOf(record)));
  return [
    ...toFindings('listed more than once', findRepeated(recorded.map(keyOf))),
    ...toFindings(
      'without an end in the API',
      unended.map((record) => describeUnended(record, acknowledged, accepted)),
    ),
    ...toFindings(
      'accepted by a receiver, not delivered in the API',
      untold.map((end) => `${pairOf(end)}: ${records.get(keyOf(end))?.status ?? 'not listed'}`),
    ),
    ...toFindings(
      'fewer attempts in the API than came',
      uncounted.map((end) => `${pairOf(end)}: ${end.attempt} came`),
    ),
    ...toFindings(
      'more attempts in the API than came',
      miscounted.flatMap((group) => group.slice(0, 1)).map(keyOf),
    ),
    ...toFindings(
      'delivered in the API, accepted by nobody',
      imagined.map((record) => `${record.eventId} at ${record.endpoint}`),
    ),
  ];
}

function lastAttemptOf(group: readonly ReceivedRequest[]): number {
  return Math.max(...group.map(({ attempt }) => attempt));
}

/** Each text that comes more than once. */
export function findRepeated(texts: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (const text of texts) {
    if (seen.has(text)) repeated.add(text);
    seen.add(text);
  }
  return [...repeated];
}

function describeUnended(
  record: RecordedDelivery,
  acknowledged: ReadonlyMap<string, AcknowledgedEvent>,
  accepted: ReadonlySet<string>,
): string {
  const isAcknowledged = [...acknowledged.values()].some(({ id }) => id === record.eventId);
  return [
    `${keyOf(record)}: ${record.status} after ${record.attemptCount} attempts`,
    isAcknowledged ? 'acknowledged' : 'not acknowledged over HTTP',
    accepted.has(keyOf(record)) ? 'accepted by its receiver' : 'not accepted',
  ].join(', ');
}

interface AcceptedPair {
  readonly requestId: string;
  readonly eventId: string;
  readonly marker: string;
  readonly endpoint: string;
  /** The number of the first attempt that was accepted. */
  readonly attempt: number;
}

function endsOf(
  requests: Ledger['requests'],
  acknowledged: ReadonlyMap<string, AcknowledgedEvent>,
): readonly AcceptedPair[] {
  const ends = new Map<string, AcceptedPair>();
  for (const request of requests) {
    if (!isAccepted(request) || !acknowledged.has(request.marker)) continue;
    const known = ends.get(keyOf(request));
    if (known === undefined || known.attempt > request.attempt) ends.set(keyOf(request), request);
  }
  return [...ends.values()];
}

function keyOf({ eventId, endpoint }: Pick<RecordedDelivery, 'eventId' | 'endpoint'>): string {
  return `${eventId} at ${endpoint}`;
}
