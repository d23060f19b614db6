import { type EndpointSpec, subscribersOf } from '../endpoints';
import { groupByPair, type Ledger } from '../ledger';
import { type Finding, toFindings } from './finding';

/** Who got what: nothing that was not meant for them, nothing that is not genuine, the same on each attempt. */
export function checkContent(
  { published, requests }: Pick<Ledger, 'published' | 'requests'>,
  specs: readonly EndpointSpec[],
): readonly Finding[] {
  const misled = requests.filter(({ endpoint, type }) => !subscribersOf(type, specs).includes(endpoint));
  const strange = requests.filter(({ marker, type }) => published.get(marker)?.type !== type);
  const forged = requests.filter(({ isVerified }) => !isVerified);
  const changed = [...groupByPair(requests)].filter(
    ([, group]) => new Set(group.map(({ bodyHash }) => bodyHash)).size > 1,
  );
  return [
    ...toFindings(
      'sent to an endpoint that had not asked for it',
      misled.map(({ marker, endpoint }) => `${marker} at ${endpoint}`),
    ),
    ...toFindings(
      'never published',
      strange.map(({ eventId, marker }) => `${eventId} (${marker})`),
    ),
    ...toFindings(
      'signature wrong',
      forged.map(({ marker, endpoint }) => `${marker} at ${endpoint}`),
    ),
    ...toFindings(
      'body changed between attempts',
      changed.map(([pair]) => pair),
    ),
    ...toFindings('one event became two', findSplitEvents(requests)),
  ];
}

/** Events that came under more than one id, whether they were acknowledged or not. */
function findSplitEvents(requests: Ledger['requests']): readonly string[] {
  const idsOf = new Map<string, Set<string>>();
  for (const { marker, eventId } of requests) {
    const ids = idsOf.get(marker) ?? new Set();
    idsOf.set(marker, ids.add(eventId));
  }
  return [...idsOf]
    .filter(([, ids]) => ids.size > 1)
    .map(([marker, ids]) => `${marker}: ${[...ids].join(', ')}`);
}
