import { useQuery } from '@tanstack/react-query';
import { useApi } from '../api/api-context';
import { ask } from '../api/ask';
import { queryKeys } from '../api/query-keys';
import { Banner } from '../components/banner';

// A queue stays paused for minutes, and each page of an operator asks.
const EVERY_MS = 15_000;

/** For operators: deliveries stand still because somebody has paused a queue, which nothing else on a page would tell. */
export function PausedBanner() {
  const api = useApi();
  const { data: paused = [] } = useQuery({
    queryKey: queryKeys.pausedQueues(),
    queryFn: async ({ signal }) => {
      const { queues } = await ask(api.GET('/v1/operations', { signal }));
      return [...new Set(queues.flatMap((queue) => (queue.paused ? [queue.name] : [])))];
    },
    refetchInterval: EVERY_MS,
    staleTime: EVERY_MS,
  });
  return paused.map((name) => (
    <Banner key={name}>
      The queue {name} is paused: its jobs wait until you resume it with{' '}
      <code>hookferry-admin queues resume {name}</code>.
    </Banner>
  ));
}
