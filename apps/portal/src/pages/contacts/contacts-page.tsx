import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { useContacts } from '../../api/contact-queries';
import { Button } from '../../components/button';
import { ButtonLink } from '../../components/button-link';
import { Empty } from '../../components/empty';
import { Problem } from '../../components/problem';
import { useCan } from '../../session/session-context';
import { PageHeader } from '../page-header';
import { NewContactDialog } from './contact-dialog';
import { ContactList } from './contact-list';

/** The contacts that get messages when webhooks fail. */
export function ContactsPage() {
  const { data: contacts, error, refetch } = useContacts();
  const mayChange = useCan('webhooks');
  const [search] = useSearchParams();
  const [isAdding, setIsAdding] = useState(false);
  return (
    <>
      <PageHeader title={t`Contacts`}>
        <ButtonLink href="/contacts/notifications">{t`Messages`}</ButtonLink>
        {mayChange && (
          <Button kind="primary" onClick={() => setIsAdding(true)}>
            {t`Add a contact`}
          </Button>
        )}
      </PageHeader>
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {contacts?.length === 0 ? (
        <Empty title={t`No contacts`}>
          <p>
            {t`A contact gets a message by mail or in a chat when a webhook fails, is disabled or works again.`}
          </p>
        </Empty>
      ) : (
        (contacts || !error) && <ContactList contacts={contacts} marked={search.get('row') ?? undefined} />
      )}
      {isAdding && <NewContactDialog onClose={() => setIsAdding(false)} />}
    </>
  );
}
