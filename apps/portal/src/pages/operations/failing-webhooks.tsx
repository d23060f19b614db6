import type { components } from '@hookferry/client';
import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
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
import type { Operations } from './operations';
import styles from './operations.module.css';

type Webhook = components['schemas']['StoppedWebhook'];
export type State = Webhook['state'];

const PAGE_SIZE = 50;

const columns: readonly Column<Webhook>[] = [
  {
    id: 'account',
    header: t`Account`,
    width: '20%',
    cell: ({ account_id: id }) => <Link href={`/accounts/${id}`}>{id}</Link>,
  },
  { id: 'url', header: 'URL', cell: ({ url }) => (url === null ? t`can’t be read` : <code>{url}</code>) },
  { id: 'reason', header: t`Reason`, width: '20%', cell: reasonOf, from: 'medium' },
  {
    id: 'since',
    header: t`Since`,
    width: '152px',
    cell: ({ since }) => (since === null ? '–' : <Time at={since} form="ago" />),
    from: 'wide',
  },
];

/** The place of the list in the page. */
export const STOPPED_WEBHOOKS = 'stopped-webhooks';

export interface FailingWebhooksProps {
  readonly state: State;
  readonly onState: (state: State) => void;
  /** undefined: it is not known how many there are. */
  readonly operations: Operations | undefined;
}

/** Webhooks of any account that nothing is sent to now. One that is opened is seen as its owner sees it. */
export function FailingWebhooks({ state, onState, operations }: FailingWebhooksProps) {
  const api = useApi();
  const [, navigate] = useLocation();
  const session = useSessionStore();
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
      title={t`Stopped webhooks`}
      id={STOPPED_WEBHOOKS}
      actions={
        <SelectField label={t`Why`} value={state} onChange={({ target }) => onState(target.value as State)}>
          <option value="breaker_open">{t`they keep failing`}</option>
          <option value="disabled">{t`they are disabled`}</option>
        </SelectField>
      }
    >
      <p className={styles['note']}>
        <Trans>Nothing is sent to these webhooks now.</Trans> {operations && stoppedText(operations)}
      </p>
      <PagedTable
        label={t`Stopped webhooks`}
        columns={columns}
        pages={pages}
        rowId={({ webhook_id: id }) => id}
        onOpen={open}
        empty={<p className={styles['note']}>{NONE[state]}</p>}
      />
    </Section>
  );
}

const NONE: Readonly<Record<State, string>> = {
  breaker_open: t`No webhook keeps failing.`,
  disabled: t`No webhook is disabled.`,
};

function stoppedText({ breakers_open: failing, webhooks_disabled: disabled }: Operations): string {
  return t`${plural(failing, { one: '# keeps failing, and is tried again by itself', other: '# keep failing, and are tried again by themselves' })}; ${plural(disabled, { one: '# is disabled', other: '# are disabled' })}.`;
}

function reasonOf({ reason, failures }: Webhook): string {
  if (reason === null) return '–';
  if (reason !== 'failures') return DISABLED[reason];
  return plural(failures ?? 0, { one: '# failure in a row', other: '# failures in a row' });
}

const DISABLED: Readonly<Record<Exclude<NonNullable<Webhook['reason']>, 'failures'>, string>> = {
  client: t`Disabled by its account`,
  gone: t`Disabled: responded with 410`,
  receiver: t`Disabled by its receiver`,
  failing: t`Disabled: failed too long`,
  disconnected: t`Nobody is connected`,
  operator: t`Disabled by an operator`,
};
