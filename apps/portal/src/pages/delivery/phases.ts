import { t } from '@lingui/core/macro';
import type { Attempt } from '../../api/delivery-queries';

export interface Phase {
  readonly name: string;
  /** undefined: it did not take place, or did not end. */
  readonly ms: number | undefined;
  readonly startMs: number;
}

/**
 * The parts of an attempt in their order, one after the other. What no part has measured is the last: sending the
 * request, reading the response, or what was under way when the attempt ended.
 */
export function phasesOf({ timings }: Pick<Attempt, 'timings'>): readonly Phase[] {
  const measured = [
    ['DNS', timings.dns_ms],
    [t`Connect`, timings.connect_ms],
    ['TLS', timings.tls_ms],
    [t`First byte`, timings.first_byte_ms],
  ] as const;
  let atMs = 0;
  const phases = measured.map(([name, ms]) => {
    const startMs = atMs;
    atMs += ms ?? 0;
    return { name, ms: ms ?? undefined, startMs };
  });
  // Each is rounded on its own.
  const rest = Math.max(timings.total_ms - atMs, 0);
  return [...phases, { name: t`Rest`, ms: rest, startMs: atMs }];
}
