import { useCreateWebhook } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { CopyButton } from '../../components/copy-button';
import { PageHeader } from '../../components/page-header';
import { bodyOf, emptyDraft } from './draft';
import { WebhookForm } from './webhook-form';
import styles from './webhook-form.module.css';

const parent = { href: '/webhooks', label: 'Webhooks' };

export function NewWebhookPage() {
  const creation = useCreateWebhook();
  if (creation.data) return <Created id={creation.data.id} secret={creation.data.secret} />;
  return (
    <>
      <PageHeader title="New webhook" parent={parent} />
      <WebhookForm
        initial={emptyDraft}
        submitLabel="Create webhook"
        cancelHref="/webhooks"
        isBusy={creation.isPending}
        error={creation.error}
        onSubmit={(draft) => creation.mutate(bodyOf(draft))}
      />
    </>
  );
}

interface CreatedProps {
  readonly id: string;
  /** Not for sessions that may not see secrets. */
  readonly secret: string | undefined;
}

function Created({ id, secret }: CreatedProps) {
  return (
    <>
      <PageHeader title="Webhook created" parent={parent} />
      {secret !== undefined && (
        <div className={styles['created']}>
          <p>Its requests are signed with this secret. Give it to the receiver, and to nobody else.</p>
          <p className={styles['secret']}>
            <code>{secret}</code>
            <CopyButton text={secret} label="Copy the secret" />
          </p>
        </div>
      )}
      <ButtonLink href={`/webhooks/${id}`} kind="primary">
        Go to the webhook
      </ButtonLink>
    </>
  );
}
