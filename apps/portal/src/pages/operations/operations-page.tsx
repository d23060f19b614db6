import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { PageHeader } from '../page-header';
import { BusiestAccounts } from './busiest-accounts';
import { FailingWebhooks } from './failing-webhooks';
import { Figures } from './figures';
import { HeldReasons } from './held-reasons';
import { LastDay } from './last-day';
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
  // Together: nothing may move when the second one comes.
  const isKnown = readiness.data !== undefined || readiness.error !== null;
  return (
    <>
      <PageHeader title="Operations" />
      {error && <Problem error={error} onRetry={refetch} />}
      {!error && !(data && isKnown) && <Skeleton lines={10} />}
      {data && isKnown && (
        <>
          {readiness.data && <ProductionChecks readiness={readiness.data} />}
          <Figures {...data} />
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
      {((data && isKnown) || error) && <FailingWebhooks />}
    </>
  );
}
