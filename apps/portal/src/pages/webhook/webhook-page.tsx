import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { lazy, Suspense } from 'react';
import { useChanges } from '../../api/audit-queries';
import { useContacts } from '../../api/contact-queries';
import { useReplays } from '../../api/replay-queries';
import { useWebhook } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { Problem } from '../../components/problem';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { useCan } from '../../session/session-context';
import { nameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
import { WebhookState } from '../webhooks/webhook-state';
import { WebhookActions } from './webhook-actions';
import { WebhookFacts } from './webhook-facts';
import { WebhookHealth } from './webhook-health';
import { WebhookLead } from './webhook-lead';
import styles from './webhook-page.module.css';

// They are shown once what they need is read: the page does not wait for their code.
const WebhookPanels = lazy(async () => ({ default: (await import('./webhook-panels')).WebhookPanels }));

interface WebhookPageProps {
  readonly params: Readonly<Record<string, string>>;
}

/** One webhook: how it is set up, how it does, and what was sent to it. */
export function WebhookPage({ params: { id = '' } }: WebhookPageProps) {
  const { data: webhook, error, refetch } = useWebhook(id);
  const { data: replays, isPending: areReplaysPending } = useReplays(id);
  const { data: contacts, isPending: areContactsPending } = useContacts();
  const changes = useChanges(id, useCan('audit'));
  const parent = { href: '/webhooks', label: t`Webhooks` };
  if (error && !webhook) {
    return (
      <>
        <PageHeader title={t`Webhook`} parent={parent} />
        <Problem error={error} onRetry={() => void refetch()} />
      </>
    );
  }
  return (
    <>
      <PageHeader
        title={webhook ? nameOf(webhook) : t`Webhook`}
        parent={parent}
        state={webhook && <WebhookState webhook={webhook} />}
      >
        {webhook && (
          <ButtonLink href={`/overview?webhook=${id}`}>
            <Trans>Charts</Trans>
          </ButtonLink>
        )}
        {webhook && <WebhookActions webhook={webhook} />}
      </PageHeader>
      {!webhook && <Skeleton lines={12} />}
      {webhook && (
        <>
          <WebhookLead webhook={webhook} />
          <div className={styles['columns']}>
            <Section title={t`Settings`}>
              <WebhookFacts webhook={webhook} />
            </Section>
            <WebhookHealth health={webhook.health} />
          </div>
        </>
      )}
      {/* What is below would move when what is above it comes. */}
      {webhook && !areReplaysPending && !areContactsPending && !changes.isLoading && (
        <Suspense fallback={null}>
          <WebhookPanels webhook={webhook} replays={replays} contacts={contacts} changes={changes} />
        </Suspense>
      )}
    </>
  );
}
