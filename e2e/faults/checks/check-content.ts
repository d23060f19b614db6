import { type EndpointSpec, subscribersOf } from '../endpoints';
import { groupByPair, type Ledger, type ReceivedRequest } from '../ledger';
import { type Finding, toFindings } from './finding';
import { partByResends } from './resends';

/**
 * Who got what: nothing that was not meant for them, nothing that is not genuine, the same on each attempt. What was asked
 * to be sent again may be made anew, once, by code that has changed.
 *
 * @param losses how often Redis may have lost what code had made of an event: each time it may be made anew once.
 */
export function checkContent(
  {
    published,
    requests,
    resends = [],
  }: Pick<Ledger, 'published' | 'requests'> & Partial<Pick<Ledger, 'resends'>>,
  specs: readonly EndpointSpec[],
  losses = 0,
): readonly Finding[] {
  const misled = requests.filter(({ endpoint, type }) => !subscribersOf(type, specs).includes(endpoint));
  const strange = requests.filter(({ marker, type }) => published.get(marker)?.type !== type);
  const forged = requests.filter(({ isVerified }) => !isVerified);
  const coded = new Set(specs.filter(({ code }) => code !== undefined).map(({ name }) => name));
  const changed = [...groupByPair(requests)].filter(([, group]) => {
    const isCoded = group[0] !== undefined && coded.has(group[0].endpoint);
    return isCoded ? hasChanged(partByResends(group, resends), losses) : hasChanged([group], 0);
  });
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
    ...toFindings('one event became two', findSplitEvents(requests, losses)),
  ];
}

/**
 * @param parts what may have been made anew. What was made before may come once more in a later one, after a fault.
 * @param losses how many bodies more there may be.
 */
function hasChanged(parts: readonly (readonly ReceivedRequest[])[], losses: number): boolean {
  const known = new Set<string>();
  let surplus = 0;
  for (const part of parts) {
    const fresh = new Set(part.map(({ bodyHash }) => bodyHash).filter((hash) => !known.has(hash)));
    for (const hash of fresh) known.add(hash);
    surplus += Math.max(fresh.size - 1, 0);
  }
  return surplus > losses;
}

/**
 * Events that came under more than one id, whether they were acknowledged or not. A Redis that loses an event loses its
 * Idempotency-Key as well: then only what has an id of ours, which is its marker, stays one.
 */
function findSplitEvents(requests: Ledger['requests'], losses: number): readonly string[] {
  const idsOf = new Map<string, Set<string>>();
  for (const { marker, eventId } of requests) {
    const ids = idsOf.get(marker) ?? new Set();
    idsOf.set(marker, ids.add(eventId));
  }
  return [...idsOf]
    .filter(([marker, ids]) => ids.size > 1 && (losses === 0 || ids.has(marker)))
    .map(([marker, ids]) => `${marker}: ${[...ids].join(', ')}`);
}
