import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { Link } from 'wouter';
import type { Contact } from '../../api/contact-queries';
import { Button } from '../../components/button';
import { Section } from '../../components/section';
import { useCan } from '../../session/session-context';
import { NewContactDialog } from './contact-dialog';
import { ContactList } from './contact-list';

interface WebhookContactsProps {
  readonly webhookId: string;
  /** All of the account. */
  readonly contacts: readonly Contact[];
}

/** The contacts that get messages about one webhook. */
export function WebhookContacts({ webhookId, contacts }: WebhookContactsProps) {
  const mayChange = useCan('webhooks');
  const [isAdding, setIsAdding] = useState(false);
  const told = contacts.filter(({ webhook_id: id }) => id === null || id === webhookId);
  return (
    <Section
      title={t`Contacts`}
      actions={
        <>
          <Link href="/contacts">{t`All contacts`}</Link>
          {mayChange && (
            <Button size="small" onClick={() => setIsAdding(true)}>
              {t`Add a contact`}
            </Button>
          )}
        </>
      }
    >
      {told.length === 0 ? <p>{t`Nobody is notified when it fails.`}</p> : <ContactList contacts={told} />}
      {isAdding && <NewContactDialog webhookId={webhookId} onClose={() => setIsAdding(false)} />}
    </Section>
  );
}
