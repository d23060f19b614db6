import { Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import { usePausedQueues } from '../api/pause-queries';
import { Banner } from '../components/banner';

/** For operators: deliveries stand still because somebody has paused a queue, which nothing else on a page would tell. */
export function PausedBanner() {
  const { data: paused = [] } = usePausedQueues();
  return paused.map(({ name, pause }) => (
    <Banner key={name}>
      <PausedQueue name={name} reason={pause?.reason} />
    </Banner>
  ));
}

interface PausedQueueProps {
  readonly name: string;
  readonly reason: string | null | undefined;
}

function PausedQueue({ name, reason }: PausedQueueProps) {
  const operations = '/operations';
  return reason ? (
    <Trans>
      The queue {name} is paused ({reason}): its jobs wait until you resume it under{' '}
      <Link href={operations}>Operations</Link>.
    </Trans>
  ) : (
    <Trans>
      The queue {name} is paused: its jobs wait until you resume it under{' '}
      <Link href={operations}>Operations</Link>.
    </Trans>
  );
}
