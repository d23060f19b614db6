import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useEffect, useEffectEvent, useState } from 'react';
import { useSearchParams } from 'wouter';
import { type ShownWebhooks, useWebhooks, type WebhookList } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { Empty } from '../../components/empty';
import { SelectField, TextField } from '../../components/field';
import { PagedTable } from '../../components/paged-table';
import { useCan } from '../../session/session-context';
import { PageHeader } from '../page-header';
import { webhookColumns } from './webhook-columns';
import styles from './webhooks-page.module.css';

/** The webhooks of the account. What is looked for, and the order, stand in the address. */
export function WebhooksPage() {
  const mayChange = useCan('webhooks');
  const [params, setParams] = useSearchParams();
  const search = params.get('search') ?? '';
  const list: WebhookList = {
    search,
    order: params.get('order') === 'newest' ? 'newest' : 'failing',
    show: shownBy(params.get('show')),
  };
  const pages = useWebhooks(list);
  const change = (changed: Partial<WebhookList>) =>
    setParams(addressOf({ ...list, ...changed }), { replace: true });
  return (
    <>
      <PageHeader title={t`Webhooks`}>
        {mayChange && (
          <ButtonLink href="/webhooks/new" kind="primary">
            <Trans>New webhook</Trans>
          </ButtonLink>
        )}
      </PageHeader>
      <search className={styles['filters']}>
        <SearchField value={search} onSearch={(text) => change({ search: text })} />
        <SelectField
          label={t`Show`}
          value={list.show}
          onChange={({ target }) => change({ show: shownBy(target.value) })}
        >
          {SHOWN.map(([show, label]) => (
            <option key={show} value={show}>
              {label}
            </option>
          ))}
        </SelectField>
        <SelectField
          label={t({ message: 'Order', context: 'list' })}
          value={list.order}
          onChange={({ target }) => change({ order: target.value === 'newest' ? 'newest' : 'failing' })}
        >
          <option value="failing">
            <Trans>Failing first</Trans>
          </option>
          <option value="newest">
            <Trans>Newest first</Trans>
          </option>
        </SelectField>
      </search>
      <PagedTable
        label={t`Webhooks`}
        columns={webhookColumns}
        pages={pages}
        rowId={({ id }) => id}
        hrefOf={({ id }) => `/webhooks/${id}`}
        empty={
          search === '' && list.show === 'all' ? (
            <Empty title={t`No webhooks yet`}>
              <p>
                <Trans>A webhook is a URL of yours that gets the events that you choose.</Trans>
              </p>
            </Empty>
          ) : (
            <Empty title={t`No such webhook`}>
              <p>
                {search !== '' && <Trans>No name, URL or id contains “{search}”.</Trans>}
                {search === '' && list.show === 'failing' && <Trans>No webhook fails.</Trans>}
                {search === '' && list.show === 'stopped' && (
                  <Trans>None was disabled because it failed.</Trans>
                )}
              </p>
            </Empty>
          )
        }
      />
    </>
  );
}

/** Only what is not as usual: an address that somebody passes on is to be short. */
function addressOf({ search, order, show }: WebhookList): Record<string, string> {
  return {
    ...(search !== '' && { search }),
    ...(order === 'newest' && { order }),
    ...(show !== 'all' && { show }),
  };
}

const SHOWN: readonly (readonly [ShownWebhooks, label: string])[] = [
  ['all', t({ message: 'All', context: 'webhooks' })],
  ['failing', t`Those that fail`],
  ['stopped', t`Disabled after failures`],
];

function shownBy(name: string | null): ShownWebhooks {
  return SHOWN.find(([show]) => show === name)?.[0] ?? 'all';
}

// A word is typed by then.
const SEARCH_AFTER_MS = 300;
// That the API takes.
const LONGEST = 100;

interface SearchFieldProps {
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

/** Searches when nobody has typed for a moment. */
function SearchField({ value, onSearch }: SearchFieldProps) {
  const [known, setKnown] = useState(value);
  const [draft, setDraft] = useState(value);
  // Somebody went back, or a link led here.
  if (value !== known) {
    setKnown(value);
    setDraft(value);
  }
  const search = useEffectEvent((text: string) => {
    setKnown(text);
    onSearch(text);
  });
  const wanted = draft.trim();
  useEffect(() => {
    if (wanted === known) return undefined;
    const timer = setTimeout(() => search(wanted), SEARCH_AFTER_MS);
    return () => clearTimeout(timer);
  }, [wanted, known]);
  return (
    <TextField
      label={t`Search`}
      type="search"
      placeholder={t`Name, URL or id`}
      maxLength={LONGEST}
      autoComplete="off"
      spellCheck={false}
      value={draft}
      onChange={({ target }) => setDraft(target.value)}
    />
  );
}
