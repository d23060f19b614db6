import { t } from '@lingui/core/macro';
import type { Attempt } from '../../api/delivery-queries';

export interface Phase {
  readonly name: string;
  /** undefined: it did not take place, or did not end. */
  readonly ms: number | undefined;
  readonly startMs: number;
}

/** Outcomes that say in which phase the attempt ended, which then has no time of its own: its place among the measured ones. */
const ENDED_IN: Readonly<Partial<Record<Attempt['outcome'], number>>> = {
  dns_error: 0,
  connect_refused: 1,
  connect_timeout: 1,
  tls_error: 2,
  response_timeout: 3,
};

/**
 * The parts of an attempt in their order, one after the other. What no part has measured belongs to the one in which the attempt
 * ended. Else it is the last: sending the request, reading the response, or what was under way at the end.
 */
export function phasesOf({ timings, outcome }: Pick<Attempt, 'timings' | 'outcome'>): readonly Phase[] {
  const measured = [
    ['DNS', timings.dns_ms],
    [t`Connect`, timings.connect_ms],
    ['TLS', timings.tls_ms],
    [t`First byte`, timings.first_byte_ms],
  ] as const;
  const knownMs = measured.reduce((sum, [, ms]) => sum + (ms ?? 0), 0);
  // Each is rounded on its own.
  const unmeasuredMs = Math.max(timings.total_ms - knownMs, 0);
  const endedIn = measured.findIndex(([, ms], index) => ms === null && index === ENDED_IN[outcome]);
  let atMs = 0;
  const phases = measured.map(([name, measuredMs], index) => {
    const startMs = atMs;
    const ms = index === endedIn ? unmeasuredMs : (measuredMs ?? undefined);
    atMs += ms ?? 0;
    return { name, ms, startMs };
  });
  return [...phases, { name: t`Rest`, ms: endedIn === -1 ? unmeasuredMs : undefined, startMs: atMs }];
}
