import type { useChanges } from '../../api/audit-queries';
import type { useContacts } from '../../api/contact-queries';
import type { Replay } from '../../api/replay-queries';
import type { ReadWebhook } from '../../api/webhook-queries';
import { useCan } from '../../session/session-context';
import { ChangesSection } from '../audit-log/changes-section';
import { WebhookContacts } from '../contacts/webhook-contacts';
import { SecretPanel } from './secret-panel';
import { TestPanel } from './test-panel';
import { TransformationPanel } from './transformation-panel';
import { VerificationPanel } from './verification-panel';
import { WebhookDeliveries } from './webhook-deliveries';
import { WebhookReplays } from './webhook-replays';

export interface WebhookPanelsProps {
  readonly webhook: ReadWebhook;
  readonly replays: readonly Replay[] | undefined;
  readonly contacts: ReturnType<typeof useContacts>['data'];
  readonly changes: ReturnType<typeof useChanges>;
}

/** What can be done with a webhook, and what was sent to it. */
export function WebhookPanels({ webhook, replays, contacts, changes }: WebhookPanelsProps) {
  const { id } = webhook;
  const mayChange = useCan('webhooks');
  const maySeeSecret = useCan('secrets');
  return (
    <>
      {webhook.verification.method !== null && <VerificationPanel webhook={webhook} />}
      {maySeeSecret && mayChange && webhook.signing !== 'ed25519' && <SecretPanel webhookId={id} />}
      <TransformationPanel webhook={webhook} />
      {mayChange && <TestPanel webhook={webhook} />}
      {replays && replays.length > 0 && <WebhookReplays replays={replays} />}
      {contacts && <WebhookContacts webhookId={id} contacts={contacts} />}
      {changes.isFetched && <ChangesSection target={id} changes={changes} />}
      <WebhookDeliveries webhook={webhook} />
    </>
  );
}
