import type { components } from '@hookferry/client';
import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { usePages } from '../../api/use-pages';
import { Button } from '../../components/button';
import type { Column } from '../../components/data-table';
import { Empty } from '../../components/empty';
import { PagedTable } from '../../components/paged-table';
import { Section } from '../../components/section';
import { ShortId } from '../../components/short-id';
import { Time } from '../../components/time';
import { formatRow } from '../../language/formats';
import { useCan } from '../../session/session-context';
import { IssueKeyDialog } from './issue-key-dialog';
import { RevokeKeyDialog } from './revoke-key-dialog';

type ApiKey = components['schemas']['ApiKey'];

const PAGE_SIZE = 50;

/** The place of the list in the page. */
export const API_KEYS = 'api-keys';

export interface ApiKeysProps {
  readonly accountId: string;
}

/** The API keys of the account, with their scopes. */
export function ApiKeys({ accountId }: ApiKeysProps) {
  const api = useApi();
  const [search] = useSearchParams();
  const [isIssuing, setIsIssuing] = useState(false);
  const [revoked, setRevoked] = useState<ApiKey>();
  const header = { 'X-Account-Id': accountId };
  const pages = usePages(queryKeys.apiKeys(accountId), (paging, signal) =>
    ask(api.GET('/v1/api-keys', { params: { header, query: { limit: PAGE_SIZE, ...paging } }, signal })),
  );
  return (
    <Section
      title={t`API keys`}
      id={API_KEYS}
      actions={
        <Button size="small" onClick={() => setIsIssuing(true)}>
          {t`Issue a key`}
        </Button>
      }
    >
      <PagedTable
        label={t`API keys`}
        columns={columnsWith(setRevoked)}
        pages={pages}
        rowId={({ id }) => id}
        marked={search.get('row') ?? undefined}
        empty={
          <Empty title={t`No API keys`}>
            <p>{t`Only operators can send requests for this account.`}</p>
          </Empty>
        }
      />
      {isIssuing && <IssueKeyDialog accountId={accountId} onClose={() => setIsIssuing(false)} />}
      {revoked && (
        <RevokeKeyDialog accountId={accountId} apiKey={revoked} onClose={() => setRevoked(undefined)} />
      )}
    </Section>
  );
}

function columnsWith(revoke: (apiKey: ApiKey) => void): readonly Column<ApiKey>[] {
  return [
    { id: 'name', header: t`Name`, cell: ({ name }) => name },
    { id: 'id', header: t`Id`, width: '14rem', cell: ({ id }) => <ShortId id={id} />, from: 'medium' },
    { id: 'scopes', header: t`Scopes`, cell: ({ scopes }) => formatRow(scopes), from: 'medium' },
    {
      id: 'used',
      header: t`Last used`,
      width: '152px',
      cell: ({ last_used_at: at }) => (at === null ? t`never` : <Time at={at} form="ago" />),
      from: 'wide',
    },
    {
      id: 'expires',
      header: t`Expires`,
      width: '152px',
      cell: ({ expires_at: at }) =>
        at === null ? t({ message: 'never', context: 'expiry' }) : <Time at={at} form="ago" />,
      from: 'wide',
    },
    {
      id: 'revoke',
      header: t`Actions`,
      width: '13rem',
      cell: (apiKey) => <KeyActions apiKey={apiKey} onRevoke={() => revoke(apiKey)} />,
    },
  ];
}

interface KeyActionsProps {
  readonly apiKey: ApiKey;
  readonly onRevoke: () => void;
}

function KeyActions({ apiKey: { id, name }, onRevoke }: KeyActionsProps) {
  const mayRead = useCan('audit');
  return (
    <>
      {mayRead && (
        <Link href={`/audit-log?actor=${id}`} aria-label={t`What ${name} did`}>
          {t`What it did`}
        </Link>
      )}{' '}
      <Button size="small" kind="danger" aria-label={t`Revoke ${name}`} onClick={onRevoke}>
        {t`Revoke`}
      </Button>
    </>
  );
}
