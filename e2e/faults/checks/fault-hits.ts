import type { InjectedFault, ReceivedRequest } from '../ledger';

/**
 * How long after its end an attempt may not be on record yet, and how long after a fault its victim may still act as
 * if nothing had been: with a busy machine in mind.
 */
const AFTERMATH_MS = 2_000;

/** Whether this request was under way, or perhaps not on record yet, when the fault struck or lasted. */
export function hits(fault: InjectedFault, request: ReceivedRequest): boolean {
  return (
    request.arrivedAt <= fault.endedAt + AFTERMATH_MS && request.endedAt + AFTERMATH_MS >= fault.startedAt
  );
}

/** The faults that may have had one of these attempts made again. */
export function countHits(faults: readonly InjectedFault[], requests: readonly ReceivedRequest[]): number {
  return faults.filter((fault) => fault.mayRepeat && requests.some((request) => hits(fault, request))).length;
}
