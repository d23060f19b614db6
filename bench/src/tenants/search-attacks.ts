/** Attacks by searches in what was published. */
import { ATTACKER, type Attack, attackerHeaders, registerMany, type World } from './world';

const SEARCHES_AT_ONCE = 8;
const SEARCHED_TYPE = 'tenants.searched';
const SEARCHED = 15;
const LISTS = 70_000;

// The largest pattern that is taken, and one that is refused.
const PATTERNS = [4, 240].map((count) => ({ a: Array.from({ length: count }, () => [1]) }));

async function publishLists({ service }: World): Promise<void> {
  const description = { description: 'For a benchmark.', schema: { type: 'object' }, example: {} };
  await service.ask('default', 'PUT', `/v1/event-types/${SEARCHED_TYPE}`, description);
  const data = { a: [...Array.from({ length: LISTS }, () => []), [1]] };
  for (let i = 0; i < SEARCHED; i += 1) {
    await service.ask(ATTACKER, 'POST', '/v1/events', { type: SEARCHED_TYPE, data });
  }
}

/** Each event takes a second of processor time if nothing bounds it. */
export const searches: Attack = {
  name: `searches with the worst pattern in ${SEARCHED} events of ${LISTS} lists`,

  async prepare(world) {
    await registerMany(world, 1, () => ({ url: world.receiver.urlOf('ok', 'attacked') }));
    await publishLists(world);
    const headers = await attackerHeaders(world);
    const paths = PATTERNS.flatMap((pattern) => {
      const data = encodeURIComponent(JSON.stringify(pattern));
      return [`/v1/events?data=${data}`, `/v1/deliveries?data=${data}`];
    });
    return {
      requests: paths.map((path) => ({ method: 'GET', path, headers })),
      atOnce: SEARCHES_AT_ONCE,
    };
  },
};

const NUL_AT_ONCE = 16;

/** If it came to PostgreSQL, it would close a connection each time. */
export const nulFilters: Attack = {
  name: 'filters with NUL, with a history',
  hasHistory: true,

  async prepare(world) {
    const headers = await attackerHeaders(world);
    const paths = [
      '/v1/events?type=a%00b',
      '/v1/deliveries?event_type=%00',
      '/v1/metrics/deliveries?event_type=%00',
    ];
    return { requests: paths.map((path) => ({ method: 'GET', path, headers })), atOnce: NUL_AT_ONCE };
  },
};
