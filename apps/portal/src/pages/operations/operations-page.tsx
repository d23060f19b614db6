import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { Time } from '../../components/time';
import { formatMs } from '../../language/formats';
import { PageHeader } from '../page-header';
import { BusiestAccounts } from './busiest-accounts';
import { FailingWebhooks, type State } from './failing-webhooks';
import { Figures } from './figures';
import { HeldReasons } from './held-reasons';
import { LastDay } from './last-day';
import { type Operations, readingOf } from './operations';
import styles from './operations.module.css';
import { PausedAccounts } from './paused-accounts';
import { ProductionChecks } from './production-checks';
import { Queues } from './queues';
import { useReadiness } from './use-last-day';
import { useOperations } from './use-operations';
import { Workers } from './workers';

/** For operators: the state of the whole service, now and over the last day. */
export function OperationsPage() {
  const { data, error, refetch } = useOperations();
  const readiness = useReadiness();
  const [stopped, setStopped] = useState<State>('breaker_open');
  // Together: nothing may move when the second one comes.
  const isKnown = readiness.data !== undefined || readiness.error !== null;
  return (
    <>
      <PageHeader title={t`Operations`} />
      {error && <Problem error={error} onRetry={refetch} />}
      {!error && !(data && isKnown) && <Skeleton lines={10} />}
      {data && isKnown && (
        <>
          <p className={styles['state']}>{stateText(data.operations)}</p>
          {readiness.data && <ProductionChecks readiness={readiness.data} />}
          <Rollback rollback={data.operations.redis_rollbacks[0]} />
          <Figures {...data} onStopped={setStopped} />
          <PausedAccounts accounts={data.operations.paused_accounts} />
          <div className={styles['columns']}>
            <BusiestAccounts operations={data.operations} />
            <HeldReasons operations={data.operations} />
          </div>
          <LastDay shardCount={Math.max(0, ...data.operations.queues.map(({ shard }) => shard + 1))} />
          <Queues queues={data.operations.queues} />
          <Workers workers={data.operations.workers} />
        </>
      )}
      {((data && isKnown) || error) && (
        <FailingWebhooks state={stopped} onState={setStopped} operations={data?.operations} />
      )}
    </>
  );
}

/** The last time that Redis went back to an earlier state: only its operator can publish again what was lost. */
function Rollback({ rollback }: { readonly rollback: Operations['redis_rollbacks'][number] | undefined }) {
  if (!rollback) return null;
  const { since, until } = rollback;
  return (
    <p>
      {since === null ? (
        <Trans>
          Redis came back empty: all that was stored before <Time at={until} /> is lost. Publish those events
          again, under the same ids.
        </Trans>
      ) : (
        <Trans>
          Redis went back to an earlier state: events that were published between <Time at={since} /> and{' '}
          <Time at={until} /> may be lost. Publish them again, under the same ids.
        </Trans>
      )}
    </p>
  );
}

function stateText(operations: Operations): string {
  const { waiting, oldestWaitingSeconds, held } = readingOf(operations);
  const oldest = formatMs(1_000 * oldestWaitingSeconds);
  return [
    plural(operations.workers.length, {
      0: 'No worker runs, so nothing is sent: start one.',
      one: '# worker runs.',
      other: '# workers run.',
    }),
    plural(waiting, {
      0: 'No job waits.',
      one: `# job waits, for ${oldest}.`,
      other: `# jobs wait, the oldest for ${oldest}.`,
    }),
    plural(held, {
      0: 'No delivery is held.',
      one: '# delivery is held.',
      other: '# deliveries are held.',
    }),
  ].join(' ');
}
