import { useLocation } from 'wouter';
import { useWebhooks } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { useCan } from '../../session/session-context';
import { PageHeader } from '../page-header';
import { webhookColumns } from './webhook-columns';

export function WebhooksPage() {
  const [, go] = useLocation();
  const mayChange = useCan('webhooks');
  const pages = useWebhooks();
  return (
    <>
      <PageHeader title="Webhooks">
        {mayChange && (
          <ButtonLink href="/webhooks/new" kind="primary">
            New webhook
          </ButtonLink>
        )}
      </PageHeader>
      <PagedTable
        label="Webhooks"
        columns={webhookColumns}
        pages={pages}
        rowId={({ id }) => id}
        onOpen={({ id }) => go(`/webhooks/${id}`)}
        empty={
          <Empty title="No webhooks yet">
            <p>A webhook is a URL of yours that gets the events that you choose.</p>
          </Empty>
        }
      />
    </>
  );
}
