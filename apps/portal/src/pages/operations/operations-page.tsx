import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { BusiestAccounts } from './busiest-accounts';
import { FailingWebhooks } from './failing-webhooks';
import { Figures } from './figures';
import { HeldReasons } from './held-reasons';
import styles from './operations.module.css';
import { Queues } from './queues';
import { useOperations } from './use-operations';
import { Workers } from './workers';

/** How the whole service does now, for who runs it. */
export function OperationsPage() {
  const { data, error, refetch } = useOperations();
  return (
    <>
      <PageHeader title="Operations" />
      {error && <Problem error={error} onRetry={refetch} />}
      {!data && !error && <Skeleton lines={10} />}
      {data && (
        <>
          <Figures {...data} />
          <div className={styles['columns']}>
            <BusiestAccounts operations={data.operations} />
            <HeldReasons operations={data.operations} />
          </div>
          <Queues queues={data.operations.queues} />
          <Workers workers={data.operations.workers} />
        </>
      )}
      {(data || error) && <FailingWebhooks />}
    </>
  );
}
