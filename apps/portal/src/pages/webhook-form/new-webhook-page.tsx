import { type CreatedWebhook, useCreateWebhook } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { CopyButton } from '../../components/copy-button';
import { PageHeader } from '../page-header';
import { emptyDraft, newBodyOf } from './draft';
import { Warnings } from './warnings';
import { WebhookForm } from './webhook-form';
import styles from './webhook-form.module.css';

const parent = { href: '/webhooks', label: 'Webhooks' };

export function NewWebhookPage() {
  const creation = useCreateWebhook();
  if (creation.data) return <Created webhook={creation.data} />;
  return (
    <>
      <PageHeader title="New webhook" parent={parent} />
      <WebhookForm
        initial={emptyDraft}
        submitLabel="Create webhook"
        cancelHref="/webhooks"
        isBusy={creation.isPending}
        error={creation.error}
        onSubmit={(draft) => creation.mutate(newBodyOf(draft))}
      />
    </>
  );
}

interface CreatedProps {
  readonly webhook: CreatedWebhook;
}

function Created({ webhook: { id, secret, public_key: publicKey, warnings } }: CreatedProps) {
  return (
    <>
      <PageHeader title="Webhook created" parent={parent} />
      <div className={styles['created']}>
        {secret !== null && (
          <>
            <p>Its requests are signed with this secret. Give it only to the receiver.</p>
            <p className={styles['secret']}>
              <code>{secret}</code>
              <CopyButton text={secret} label="Copy the secret" />
            </p>
          </>
        )}
        {publicKey !== null && (
          <>
            <p>Its requests are signed with a private key. The receiver verifies them with the public key.</p>
            <p className={styles['secret']}>
              <code>{publicKey}</code>
              <CopyButton text={publicKey} label="Copy the public key" />
            </p>
          </>
        )}
        <Warnings warnings={warnings} />
      </div>
      <ButtonLink href={`/webhooks/${id}`} kind="primary">
        Go to the webhook
      </ButtonLink>
    </>
  );
}
