import type { components } from '@hookferry/client';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { usePages } from '../../api/use-pages';
import type { Column } from '../../components/data-table';
import { SelectField } from '../../components/field';
import { PagedTable } from '../../components/paged-table';
import { Section } from '../../components/section';
import { Time } from '../../components/time';
import { useSessionStore } from '../../session/session-context';
import styles from './operations.module.css';

type Webhook = components['schemas']['StoppedWebhook'];
type State = Webhook['state'];

const PAGE_SIZE = 50;

const columns: readonly Column<Webhook>[] = [
  {
    id: 'account',
    header: 'Account',
    width: '20%',
    cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
  },
  { id: 'url', header: 'URL', cell: ({ url }) => (url === null ? 'can’t be read' : <code>{url}</code>) },
  { id: 'reason', header: 'Reason', width: '20%', cell: reasonOf, from: 'medium' },
  {
    id: 'since',
    header: 'Since',
    width: '152px',
    cell: ({ since }) => (since === null ? '–' : <Time at={since} form="ago" />),
    from: 'wide',
  },
];

/** Webhooks of any account that nothing is sent to now. One that is opened is seen as its owner sees it. */
export function FailingWebhooks() {
  const api = useApi();
  const [, navigate] = useLocation();
  const session = useSessionStore();
  const [state, setState] = useState<State>('breaker_open');
  const pages = usePages(queryKeys.operationsWebhooks(state), (paging, signal) => {
    const query = { state, limit: PAGE_SIZE, ...paging };
    return ask(api.GET('/v1/operations/webhooks', { params: { query }, signal }));
  });
  const open = ({ account_id: accountId, webhook_id: id }: Webhook) => {
    session.viewAccount(accountId);
    navigate(`/webhooks/${id}`);
  };
  return (
    <Section
      title="Webhooks without deliveries"
      actions={
        <SelectField label="Why" value={state} onChange={({ target }) => setState(target.value as State)}>
          <option value="breaker_open">breaker open</option>
          <option value="disabled">disabled</option>
        </SelectField>
      }
    >
      <PagedTable
        label="Webhooks without deliveries"
        columns={columns}
        pages={pages}
        rowId={({ webhook_id: id }) => id}
        onOpen={open}
        empty={<p className={styles['note']}>There is none.</p>}
      />
    </Section>
  );
}

function reasonOf({ reason, failures }: Webhook): string {
  if (reason === 'failures') return `${failures} failures in a row`;
  return reason === null ? '–' : `disabled: ${reason}`;
}
