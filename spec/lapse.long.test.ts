import type { Rules, Server } from './lapse-world';
import { findFault } from './play-lapse';

const PLAYS = 10_000;

// Those that few plays need, and the server that shows it.
const WITHOUT: readonly [keyof Rules, server: Server, fault: string][] = [
  ['comparesLength', 'a Cluster', 'has lost a line'],
  ['waitsForJob', 'a Cluster', 'has no payload'],
  ['isReadOnly', 'one server', 'has lost a line'],
  ['marksWhatIsReopened', 'one server', 'has lost a line'],
  ['addsJobInTime', 'one server', 'has no payload'],
];

describe('what has ended lapses in Redis once PostgreSQL has it', () => {
  it.each(['one server', 'a Cluster'] as const)('and nothing of it is lost, or left, on %s', (server) => {
    expect(findFault(server, PLAYS)).toBeUndefined();
  });

  it.each(WITHOUT)('which needs the rule %s', (rule, server, fault) => {
    expect(findFault(server, PLAYS, rule)?.faults).toContain(fault);
  });
});
