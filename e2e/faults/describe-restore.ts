import { findDuplicates } from './checks/find-duplicates';
import { findLost } from './checks/find-lost';
import type { EndpointSpec } from './endpoints';
import { type Ledger, pairOf } from './ledger';

/** What came of a restore from a backup of that time, line by line. */
export function describeRestore(
  ledger: Ledger,
  specs: readonly EndpointSpec[],
  backupAt: number,
): readonly string[] {
  const lost = findLost(ledger, specs);
  const [restored] = ledger.faults;
  const known = [...ledger.acknowledged.values()].filter(({ acknowledgedAt }) => acknowledgedAt <= backupAt);
  const goneEvents = new Set(lost.map(({ event }) => event.marker));
  const goneOfBackup = lost.filter(({ event }) => event.acknowledgedAt <= backupAt);
  const again = findDuplicates(ledger);
  return [
    `backup made at ${new Date(backupAt).toISOString()}, in use from ${new Date(restored?.endedAt ?? 0).toISOString()} on`,
    `in the backup: ${known.length} acknowledged events; of their deliveries ${goneOfBackup.length} never arrived`,
    `delivered again, under the same webhook-id: ${again.length} deliveries that the backup knew as unfinished`,
    `gone: ${goneEvents.size} events that were acknowledged after the backup, or ${lost.length} deliveries${range(lost)}`,
    ...goneOfBackup.slice(0, 5).map(({ event, endpoint }) => `  lost: ${pairOf({ ...event, endpoint })}`),
  ];
}

function range(lost: ReturnType<typeof findLost>): string {
  const times = lost.map(({ event }) => event.acknowledgedAt).sort((a, b) => a - b);
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined) return '';
  return `; acknowledged from ${new Date(first).toISOString()} to ${new Date(last).toISOString()}`;
}
