import { Link } from 'wouter';
import { usePausedQueues } from '../api/pause-queries';
import { Banner } from '../components/banner';

/** For operators: deliveries stand still because somebody has paused a queue, which nothing else on a page would tell. */
export function PausedBanner() {
  const { data: paused = [] } = usePausedQueues();
  return paused.map(({ name, pause }) => (
    <Banner key={name}>
      The queue {name} is paused{pause?.reason ? ` (${pause.reason})` : ''}: its jobs wait until you resume it
      under <Link href="/operations">Operations</Link>.
    </Banner>
  ));
}
