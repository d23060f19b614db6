import { checkContent } from './checks/check-content';
import { checkInFlight } from './checks/check-in-flight';
import { checkOrder } from './checks/check-order';
import { checkRate } from './checks/check-rate';
import { checkRecord } from './checks/check-record';
import { findDuplicates } from './checks/find-duplicates';
import { findLost, type OwedDelivery } from './checks/find-lost';
import { findTwoJobs } from './checks/find-two-jobs';
import { type Finding, toFindings } from './checks/finding';
import { checkResends } from './checks/resends';
import { tallyFaults } from './checks/tally-faults';
import type { EndpointSpec } from './endpoints';
import { type Ledger, pairOf, type ReceivedRequest } from './ledger';
import type { RunResult } from './run-result';

// The default WORKER_CONCURRENCY: an endpoint may have all of it while no other one needs any.
const IN_FLIGHT_OF_A_WORKER = 256;

export interface FinishedRun {
  readonly fault: string;
  readonly startedAt: number;
  readonly ledger: Ledger;
  readonly specs: readonly EndpointSpec[];
  /** What is known of each job that was left. */
  readonly jobsLeft: readonly string[];
  /** How many there were at once. */
  readonly mostWorkers: number;
  readonly redisMayLose: string | undefined;
  /** Whether replicas, or PostgreSQL, had what was acknowledged: then none of it may be lost all the same. */
  readonly isConfirmed: boolean;
  /** What was found already. */
  readonly findings: readonly Finding[];
}

/** Every promise of the service, held against what was seen. */
export function checkRun(run: FinishedRun): RunResult {
  const { fault, startedAt, ledger, specs, jobsLeft, redisMayLose, isConfirmed } = run;
  const lost = findLost(ledger, specs);
  const duplicates = findDuplicates(ledger);
  const twoJobs = findTwoJobs(ledger);
  const unexplained = duplicates.filter(({ isExplained }) => !isExplained);
  const findings: readonly Finding[] = [
    ...run.findings,
    ...toFindings(
      'acknowledged and lost',
      redisMayLose === undefined || isConfirmed ? lost.map((owed) => describeLoss(ledger, owed)) : [],
    ),
    ...toFindings(
      'delivered again for no reason',
      unexplained.map(({ pair, requests }) => `${pair}: ${describeRequests(requests, ledger)}`),
    ),
    ...toFindings(
      'two jobs for one delivery',
      twoJobs.map(({ pair, sign, requests }) => `${pair}, ${sign}: ${describeRequests(requests, ledger)}`),
    ),
    ...checkContent(ledger, specs, redisMayLose === undefined ? 0 : ledger.faults.length),
    ...(redisMayLose === undefined ? checkResends(ledger) : []),
    ...specs.flatMap((spec) => checkLimits(run, spec)),
    ...(redisMayLose === undefined ? checkRecord(ledger) : []),
    // What Redis went back on may leave a job delayed to its bound, which a run does not wait for: it counts as lost.
    ...toFindings('jobs left', redisMayLose === undefined ? jobsLeft : []),
  ];
  return {
    fault,
    faults: ledger.faults,
    tallies: tallyFaults(ledger, specs, { lost, duplicates, twoJobs }),
    acknowledged: ledger.acknowledged.size,
    requests: ledger.requests.length,
    seconds: (Date.now() - startedAt) / 1_000,
    findings,
  };
}

function checkLimits(
  { ledger, mostWorkers, redisMayLose }: FinishedRun,
  { name, options }: EndpointSpec,
): readonly Finding[] {
  const losses = redisMayLose === undefined ? [] : ledger.faults;
  const cap = IN_FLIGHT_OF_A_WORKER * mostWorkers;
  const { ordering } = options ?? {};
  return [
    ...(ordering === 'group'
      ? groupsOf(ledger).flatMap((group) => checkInFlight(group, name, 1))
      : checkInFlight(ledger, name, ordering === 'strict' ? 1 : cap)),
    ...(typeof options?.rate_limit === 'number' ? checkRate(ledger, name, options.rate_limit) : []),
    ...(ordering === 'strict' || ordering === 'group' ? checkOrder(ledger, name, ordering, losses) : []),
  ];
}

/** The requests of each group of events, beside the faults. */
function groupsOf({ published, requests, faults }: Ledger): readonly Pick<Ledger, 'requests' | 'faults'>[] {
  const groups = new Map<string, ReceivedRequest[]>();
  for (const request of requests) {
    const group = published.get(request.marker)?.group;
    if (group === undefined) continue;
    const known = groups.get(group);
    if (known) known.push(request);
    else groups.set(group, [request]);
  }
  return [...groups.values()].map((ofGroup) => ({ requests: ofGroup, faults }));
}

function describeLoss(ledger: Ledger, { event, endpoint }: OwedDelivery): string {
  const { id, marker, acknowledgedAt } = event;
  const eventId = id ?? ledger.requests.find((request) => request.marker === marker)?.eventId;
  const record = ledger.recorded.find((one) => one.eventId === eventId && one.endpoint === endpoint);
  const state =
    record === undefined ? 'not listed' : `${record.status} after ${record.attemptCount} attempts`;
  return `${pairOf({ marker, endpoint })}, acknowledged ${clock(acknowledgedAt, ledger)}: ${state}`;
}

function describeRequests(requests: readonly ReceivedRequest[], ledger: Ledger): string {
  return requests
    .map(
      ({ attempt, status, arrivedAt, endedAt }) =>
        `#${attempt} ${clock(arrivedAt, ledger)}–${clock(endedAt, ledger)} ${status ?? 'broken off'}`,
    )
    .join(', ');
}

/** In seconds since the first fault began. */
function clock(time: number, { faults }: Ledger): string {
  return ((time - (faults[0]?.startedAt ?? 0)) / 1_000).toFixed(2);
}
