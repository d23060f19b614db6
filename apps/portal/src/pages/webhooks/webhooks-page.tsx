import { useCallback } from 'react';
import { useLocation } from 'wouter';
import { useWebhooks } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { DataTable } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { useCan } from '../../session/session-context';
import { webhookColumns } from './webhook-columns';

export function WebhooksPage() {
  const [, go] = useLocation();
  const mayChange = useCan('endpoints');
  const { data, error, refetch, hasNextPage, fetchNextPage } = useWebhooks();
  const rows = data?.pages.flatMap((page) => page.data);
  const loadMore = useCallback(() => {
    if (hasNextPage) void fetchNextPage();
  }, [hasNextPage, fetchNextPage]);

  return (
    <>
      <PageHeader title="Webhooks">
        {mayChange && (
          <ButtonLink href="/webhooks/new" kind="primary">
            New webhook
          </ButtonLink>
        )}
      </PageHeader>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {rows?.length === 0 ? (
        <Empty title="No webhooks yet">
          <p>A webhook is a URL of yours that is sent the events that you choose.</p>
        </Empty>
      ) : (
        !error && (
          <DataTable
            label="Webhooks"
            columns={webhookColumns}
            rows={rows}
            rowId={({ id }) => id}
            onOpen={({ id }) => go(`/webhooks/${id}`)}
            onEnd={loadMore}
          />
        )
      )}
    </>
  );
}
