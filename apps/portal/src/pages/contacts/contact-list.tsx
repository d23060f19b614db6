import { t } from '@lingui/core/macro';
import { useState } from 'react';
import {
  type Contact,
  useAskContactAgain,
  useDeleteContact,
  useTestContact,
} from '../../api/contact-queries';
import { Badge } from '../../components/badge';
import { Button } from '../../components/button';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { type Column, DataTable } from '../../components/data-table';
import { Problem } from '../../components/problem';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';
import { useWebhookNames } from '../deliveries/use-webhook-names';
import { EditContactDialog } from './contact-dialog';
import { CONTACT_STATES, DIGESTS, KINDS, occasionsText } from './contact-texts';
import styles from './contacts.module.css';

interface ContactListProps {
  /** undefined: they are being loaded. */
  readonly contacts: readonly Contact[] | undefined;
  /** The id of the one that a link leads to. */
  readonly marked?: string | undefined;
}

/** Contacts, their state, and what can be done about it. A row leads to its settings. */
export function ContactList({ contacts, marked }: ContactListProps) {
  const mayChange = useCan('webhooks');
  const names = useWebhookNames();
  const { show } = useToasts();
  const asking = useAskContactAgain();
  const testing = useTestContact();
  const [edited, setEdited] = useState<Contact>();
  const [removed, setRemoved] = useState<Contact>();
  const askAgain = ({ id }: Contact) =>
    asking.mutate(id, { onSuccess: ({ target }) => show(t`${target} gets another link to confirm.`) });
  const test = ({ id }: Contact) =>
    testing.mutate(id, { onSuccess: ({ target }) => show(t`${target} gets a test message.`) });
  const actions = mayChange ? [actionsWith({ askAgain, test, remove: setRemoved })] : [];
  const columns = [...columnsWith(names), ...actions];
  const error = asking.error ?? testing.error;
  return (
    <>
      {error && <Problem error={error} />}
      <DataTable
        label={t`Contacts`}
        columns={columns}
        rows={contacts}
        rowId={({ id }) => id}
        marked={marked}
        {...(mayChange && { onOpen: setEdited })}
      />
      {edited && <EditContactDialog contact={edited} onClose={() => setEdited(undefined)} />}
      {removed && <RemoveContactDialog contact={removed} onClose={() => setRemoved(undefined)} />}
    </>
  );
}

function columnsWith(names: ReadonlyMap<string, string>): readonly Column<Contact>[] {
  return [
    {
      id: 'target',
      header: t({ message: 'Who', context: 'recipient' }),
      cell: ({ target }) => target,
      second: ({ status }) => CONTACT_STATES[status][0],
    },
    {
      id: 'kind',
      header: t({ message: 'By', context: 'channel' }),
      width: '6rem',
      cell: ({ type }) => KINDS[type],
      from: 'wide',
    },
    {
      id: 'state',
      header: t`State`,
      width: '11rem',
      from: 'medium',
      cell: ({ status }) => {
        const [label, tone] = CONTACT_STATES[status];
        return <Badge tone={tone}>{label}</Badge>;
      },
    },
    {
      id: 'webhook',
      header: t`Webhook`,
      cell: ({ webhook_id: id }) =>
        id === null ? t({ message: 'All', context: 'webhooks' }) : (names.get(id) ?? id),
      from: 'wide',
    },
    { id: 'occasions', header: t`Messages when`, cell: occasionsText, from: 'wide' },
    {
      id: 'digest',
      header: t`How often`,
      width: '11rem',
      cell: ({ digest }) => DIGESTS[digest ?? ''],
      from: 'wide',
    },
  ];
}

type Action = (contact: Contact) => void;

function actionsWith({
  askAgain,
  test,
  remove,
}: Readonly<Record<'askAgain' | 'test' | 'remove', Action>>): Column<Contact> {
  return {
    id: 'actions',
    header: t`Actions`,
    width: 'min(15rem, 54vw)',
    cell: (contact) => {
      const { target } = contact;
      return (
        <span className={styles['actions']}>
          {contact.status === 'unconfirmed' && (
            <Button
              size="small"
              aria-label={t`Send again the link to ${target}`}
              onClick={() => askAgain(contact)}
            >
              {t`Send again`}
            </Button>
          )}
          {contact.status === 'confirmed' && (
            <Button
              size="small"
              aria-label={t`Send a test message to ${target}`}
              onClick={() => test(contact)}
            >
              {t`Send a test`}
            </Button>
          )}
          <Button size="small" kind="danger" aria-label={t`Remove ${target}`} onClick={() => remove(contact)}>
            {t`Remove`}
          </Button>
        </span>
      );
    },
  };
}

interface RemoveContactDialogProps {
  readonly contact: Contact;
  readonly onClose: () => void;
}

function RemoveContactDialog({ contact: { id, target }, onClose }: RemoveContactDialogProps) {
  const { mutate, isPending, error } = useDeleteContact(id);
  return (
    <ConfirmDialog
      isOpen
      title={t`Remove ${target}?`}
      confirmLabel={t`Remove`}
      isDangerous
      isBusy={isPending}
      error={error}
      onConfirm={() => mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
    >
      <p>{t`It gets no more messages. To get messages again, it must be added and confirm again.`}</p>
    </ConfirmDialog>
  );
}
