import type { Rules, Server } from './lapse-world';
import { findFault } from './play-lapse';

const SERVERS: readonly Server[] = ['one server', 'a Cluster'];

// Where a play among the first hundred shows it. The others are in the long test.
const WITHOUT: readonly [keyof Rules, fault: string][] = [
  ['comparesErasure', 'was erased and has a response'],
  ['commitsFirst', 'has lost a line'],
  ['keepsEventForOthers', 'is left in Redis'],
  ['comesAgain', 'is left in Redis'],
  ['listsWhatIsPutBack', 'is left in Redis'],
  ['erasesWhatLapses', 'lapses with a response that was erased'],
];

describe('what has ended lapses in Redis once PostgreSQL has it', () => {
  it.each(SERVERS)('and nothing of it is lost, or left, on %s', (server) => {
    expect(findFault(server, 400)).toBeUndefined();
  });

  it.each(WITHOUT)('which needs the rule %s', (rule, fault) => {
    const faults = SERVERS.flatMap((server) => findFault(server, 100, rule)?.faults ?? []);
    expect(faults).toContain(fault);
  });
});
