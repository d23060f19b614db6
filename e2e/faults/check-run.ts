import { checkContent } from './checks/check-content';
import { checkOrder } from './checks/check-order';
import { checkRate } from './checks/check-rate';
import { checkRecord } from './checks/check-record';
import { findDuplicates } from './checks/find-duplicates';
import { findLost } from './checks/find-lost';
import { findTwoJobs } from './checks/find-two-jobs';
import { type Finding, toFindings } from './checks/finding';
import { measureRecovery } from './checks/measure-recovery';
import type { EndpointSpec } from './endpoints';
import { type Ledger, pairOf, type ReceivedRequest } from './ledger';
import type { QueueDepths } from './queue-depths';
import type { RunResult } from './run-result';

export interface FinishedRun {
  readonly fault: string;
  readonly startedAt: number;
  readonly ledger: Ledger;
  readonly specs: readonly EndpointSpec[];
  /** The jobs that were left. */
  readonly depths: QueueDepths;
}

/** Every promise of the service, held against what was seen. */
export function checkRun({ fault, startedAt, ledger, specs, depths }: FinishedRun): RunResult {
  const lost = findLost(ledger, specs);
  const duplicates = findDuplicates(ledger);
  const twoJobs = findTwoJobs(ledger);
  const unexplained = duplicates.filter(({ isExplained }) => !isExplained);
  const findings: readonly Finding[] = [
    ...toFindings(
      'acknowledged and lost',
      lost.map(
        ({ event, endpoint }) =>
          `${pairOf({ ...event, endpoint })}, ${describeState(ledger, event, endpoint)}`,
      ),
    ),
    ...toFindings(
      'delivered again for no reason',
      unexplained.map(({ pair, requests }) => `${pair}: ${describeRequests(requests, ledger)}`),
    ),
    ...toFindings(
      'two jobs for one delivery',
      twoJobs.map(({ pair, sign, requests }) => `${pair}, ${sign}: ${describeRequests(requests, ledger)}`),
    ),
    ...checkContent(ledger, specs),
    ...specs.flatMap(({ name, options }) => checkOptions(ledger, name, options)),
    ...checkRecord(ledger),
    ...toFindings(
      'jobs left',
      Object.entries(depths).map(([queue, count]) => `${count} in ${queue}`),
    ),
  ];
  return {
    fault,
    injections: ledger.faults.length,
    acknowledged: ledger.acknowledged.size,
    lost: lost.length,
    duplicates: duplicates.length,
    twoJobs: twoJobs.length,
    requests: ledger.requests.length,
    seconds: (Date.now() - startedAt) / 1_000,
    recoveryMs: ledger.faults.flatMap((one) => measureRecovery(one, ledger, specs)),
    findings,
  };
}

function checkOptions(
  ledger: Ledger,
  endpoint: string,
  options: EndpointSpec['options'],
): readonly Finding[] {
  return [
    ...(typeof options?.rate_limit === 'number' ? checkRate(ledger, endpoint, options.rate_limit) : []),
    ...(options?.ordering === 'strict' ? checkOrder(ledger, endpoint) : []),
  ];
}

function describeState(
  { recorded, requests }: Ledger,
  { id, marker }: { readonly id?: string | undefined; readonly marker: string },
  endpoint: string,
): string {
  const eventId = id ?? requests.find((request) => request.marker === marker)?.eventId;
  const record = recorded.find((one) => one.eventId === eventId && one.endpoint === endpoint);
  return record === undefined ? 'not listed' : `${record.status} after ${record.attemptCount} attempts`;
}

/** When each came and ended, in seconds since the first fault began. */
function describeRequests(requests: readonly ReceivedRequest[], { faults, requests: all }: Ledger): string {
  const zero = faults[0]?.startedAt ?? all[0]?.arrivedAt ?? 0;
  const seconds = (time: number) => ((time - zero) / 1_000).toFixed(2);
  return requests
    .map(
      ({ attempt, status, arrivedAt, endedAt }) =>
        `#${attempt} ${seconds(arrivedAt)}–${seconds(endedAt)} ${status ?? 'broken off'}`,
    )
    .join(', ');
}
