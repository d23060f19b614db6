import { Link } from 'wouter';
import { hasEnded, type Replay, useCancelReplay, useReplay } from '../../api/replay-queries';
import { Button } from '../../components/button';
import { Facts } from '../../components/facts';
import { Problem } from '../../components/problem';
import { Progress } from '../../components/progress';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { useCan } from '../../session/session-context';
import { ChangesIfAny } from '../audit-log/changes-section';
import { PageHeader } from '../page-header';
import { formatCount } from '../webhooks/health-figures';
import styles from './replay.module.css';
import { ReplayStatus } from './replay-status';

interface ReplayPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** The progress of a replay. */
export function ReplayPage({ params: { id = '' } }: ReplayPageProps) {
  const { data: replay, error, refetch } = useReplay(id);
  const parent = replay
    ? { href: `/webhooks/${replay.webhook_id}`, label: 'Webhook' }
    : { href: '/webhooks', label: 'Webhooks' };
  return (
    <>
      <PageHeader title="Replay" parent={parent} state={replay && <ReplayStatus replay={replay} />}>
        {replay && !hasEnded(replay) && <Cancel id={id} />}
      </PageHeader>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!replay && !error && <Skeleton lines={6} />}
      {replay && <HowFar replay={replay} />}
      <ChangesIfAny target={id} />
    </>
  );
}

function Cancel({ id }: { readonly id: string }) {
  const mayReplay = useCan('redeliver');
  const cancel = useCancelReplay(id);
  if (!mayReplay) return null;
  return (
    <Button kind="danger" isBusy={cancel.isPending} onClick={() => cancel.mutate()}>
      Cancel
    </Button>
  );
}

function HowFar({ replay }: { readonly replay: Replay }) {
  const { id, status, mode, since, until, rate, found, enqueued, erased, ended_at: finishedAt } = replay;
  const done = replay.dry_run ? found : enqueued;
  return (
    <div className={styles['form']}>
      <Progress
        label="Events put onto the queue"
        done={done}
        of={status === 'counting' ? undefined : found}
      />
      <output className={styles['count']}>
        {status === 'counting'
          ? `Counting: ${formatCount(found)} so far`
          : `${formatCount(enqueued)} of ${formatCount(found)} events put onto the queue`}
      </output>
      {replay.error && <p>{replay.error}</p>}
      <Facts
        facts={{
          Id: <code>{id}</code>,
          Range: (
            <>
              <Time at={since} /> – <Time at={until} />
            </>
          ),
          Mode: mode,
          Rate: `${formatCount(rate)} per second`,
          'Left out': erased > 0 ? `${formatCount(erased)}, whose payload was erased` : undefined,
          Finished: finishedAt ? <Time at={finishedAt} /> : undefined,
        }}
      />
      <p>
        Queued events are sent as fast as the webhook takes them: see{' '}
        <Link href={`/webhooks/${replay.webhook_id}`}>its deliveries</Link>.
      </p>
    </div>
  );
}
