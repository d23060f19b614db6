import { plural, t } from '@lingui/core/macro';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { type Notification, useContacts, useNotifications } from '../../api/contact-queries';
import { Badge } from '../../components/badge';
import { Button } from '../../components/button';
import { AGO_WIDTH, type Column } from '../../components/data-table';
import { DetailsDialog } from '../../components/details-dialog';
import { Empty } from '../../components/empty';
import { Facts } from '../../components/facts';
import { SelectField } from '../../components/field';
import { PagedTable } from '../../components/paged-table';
import { Time } from '../../components/time';
import { formatCount } from '../../language/formats';
import { PageHeader } from '../page-header';
import { KINDS, MESSAGE_STATES, TOPICS } from './contact-texts';
import styles from './contacts.module.css';

/** The messages to contacts, and the result of each. The search is in the address. */
export function NotificationsPage() {
  const [search, setSearch] = useSearchParams();
  const { data: contacts } = useContacts();
  const [opened, setOpened] = useState<Notification>();
  const targets = new Map(contacts?.map(({ id, target }) => [id, target]));
  const pages = useNotifications(filtersOf(search));
  return (
    <>
      <PageHeader title={t`Messages`} parent={{ href: '/contacts', label: t`Contacts` }} />
      <Filters search={search} targets={targets} onChange={(next) => setSearch(next, { replace: true })} />
      <PagedTable
        label={t`Messages`}
        columns={columnsWith(targets)}
        pages={pages}
        rowId={({ id }) => id}
        marked={search.get('row') ?? undefined}
        onOpen={setOpened}
        empty={
          <Empty title={t`No messages`}>
            <p>{t`No message matches these filters, or it is no longer kept.`}</p>
          </Empty>
        }
      />
      {opened && (
        <MessageDialog
          message={opened}
          target={targets.get(opened.contact_id)}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

const NAMES = ['contact', 'topic', 'status'] as const;

/** The filters. Invalid texts, as in an address that somebody typed, are ignored. */
function filtersOf(search: URLSearchParams) {
  const [contact, topic, status] = NAMES.map((name) => search.get(name) ?? '');
  return {
    ...(contact && /^ct_[0-9a-z]{22}$/.test(contact) && { contact_id: contact }),
    ...(isIn(TOPICS, topic) && { topic }),
    ...(isIn(MESSAGE_STATES, status) && { status }),
  };
}

function isIn<Name extends string>(
  texts: Readonly<Record<Name, unknown>>,
  name: string | undefined,
): name is Name {
  return name !== undefined && Object.hasOwn(texts, name);
}

interface FiltersProps {
  readonly search: URLSearchParams;
  readonly targets: ReadonlyMap<string, string>;
  readonly onChange: (search: URLSearchParams) => void;
}

function Filters({ search, targets, onChange }: FiltersProps) {
  const set = (name: (typeof NAMES)[number], value: string) => {
    const next = new URLSearchParams(search);
    if (value === '') next.delete(name);
    else next.set(name, value);
    onChange(next);
  };
  const choices = {
    contact: [...targets],
    topic: Object.entries(TOPICS),
    status: Object.entries(MESSAGE_STATES).map(([name, [label]]) => [name, label] as const),
  };
  const labels = { contact: t`Contact`, topic: t({ message: 'About', context: 'topic' }), status: t`State` };
  return (
    <form className={styles['filters']} aria-label={t`Filters`} onSubmit={(event) => event.preventDefault()}>
      {NAMES.map((name) => (
        <SelectField
          key={name}
          label={labels[name]}
          value={search.get(name) ?? ''}
          onChange={({ target }) => set(name, target.value)}
        >
          <option value="">{t`Any`}</option>
          {choices[name].map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </SelectField>
      ))}
      <div className={styles['actions']}>
        <Button
          kind="quiet"
          disabled={NAMES.every((name) => !search.has(name))}
          onClick={() => onChange(new URLSearchParams())}
        >
          {t`Clear filters`}
        </Button>
      </div>
    </form>
  );
}

function columnsWith(targets: ReadonlyMap<string, string>): readonly Column<Notification>[] {
  return [
    {
      id: 'at',
      header: t`When`,
      width: AGO_WIDTH,
      cell: ({ created_at: at }) => <Time at={at} form="ago" />,
    },
    { id: 'topic', header: t({ message: 'About', context: 'topic' }), cell: ({ topic }) => TOPICS[topic] },
    { id: 'subjects', header: t`Which`, cell: subjectsText, from: 'wide' },
    {
      id: 'contact',
      header: t({ message: 'To', context: 'recipient' }),
      cell: ({ contact_id: id, contact_type: kind }) => targets.get(id) ?? removedText(kind),
      from: 'medium',
    },
    {
      id: 'state',
      header: t`State`,
      width: 'clamp(96px, 30vw, 11rem)',
      cell: (message) => <MessageState message={message} />,
    },
    { id: 'error', header: t`Error`, width: '10rem', cell: ({ error }) => error ?? '–', from: 'wide' },
  ];
}

function removedText(kind: Notification['contact_type']): string {
  const name = KINDS[kind];
  return t`${name}, removed`;
}

function subjectsText({ subjects, subject_count: count }: Notification): string {
  const [only] = subjects;
  if (count > 1) return plural(count, { one: '# webhook', other: '# webhooks' });
  return only?.label ?? only?.webhook_id ?? '–';
}

function MessageState({ message: { status } }: { readonly message: Notification }) {
  const [label, tone] = MESSAGE_STATES[status];
  return <Badge tone={tone}>{label}</Badge>;
}

interface MessageDialogProps {
  readonly message: Notification;
  readonly target: string | undefined;
  readonly onClose: () => void;
}

function MessageDialog({ message, target, onClose }: MessageDialogProps) {
  const { topic, contact_type: kind, subjects, subject_count: count, attempts, error } = message;
  const more = count - subjects.length;
  const rest = formatCount(more);
  // A question to confirm, for one, is about none.
  const named = subjects.filter((subject) => Object.values(subject).some((value) => value !== null));
  return (
    <DetailsDialog title={TOPICS[topic]} onClose={onClose}>
      <Facts
        facts={{
          [t({ message: 'To', context: 'recipient' })]: target ?? removedText(kind),
          [t`State`]: <MessageState message={message} />,
          [t`When`]: <Time at={message.created_at} />,
          [t`Ended`]: message.ended_at === null ? undefined : <Time at={message.ended_at} />,
          [t`Tries`]: formatCount(attempts),
          [t`Error`]: error ?? undefined,
          [t`Which`]:
            named.length > 0 ? (
              <ul className={styles['subjects']}>
                {named.map(({ webhook_id: id, label, detail }, index) => (
                  <li key={id ?? index}>
                    {id !== null && (
                      <Link href={`/webhooks/${id}`} onClick={onClose}>
                        {label ?? id}
                      </Link>
                    )}
                    {id === null && label} {detail}
                  </li>
                ))}
                {more > 0 && <li>{t`… and ${rest} more`}</li>}
              </ul>
            ) : undefined,
        }}
      />
    </DetailsDialog>
  );
}
