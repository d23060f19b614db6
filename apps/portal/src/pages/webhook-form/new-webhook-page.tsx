import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { lazy, Suspense, useEffect } from 'react';
import { useContacts } from '../../api/contact-queries';
import { type CreatedWebhook, useCreateWebhook } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { CopyButton } from '../../components/copy-button';
import { DraftNotice, useDraft } from '../../components/drafts';
import { Section } from '../../components/section';
import { Skeleton } from '../../components/skeleton';
import { useCan } from '../../session/session-context';
import { WebhookContacts } from '../contacts/webhook-contacts';
import { PageHeader } from '../page-header';
import { TestPanel } from '../webhook/test-panel';
import { emptyDraft, newBodyOf } from './draft';
import { Warnings } from './warnings';
import { WebhookForm } from './webhook-form';
import styles from './webhook-form.module.css';

// The examples in all languages are needed once the webhook is there.
const VerificationSnippets = lazy(async () => {
  const loaded = await import('../event-type/verification-snippets');
  return { default: loaded.VerificationSnippets };
});

const parent = { href: '/webhooks', label: t`Webhooks` };

export function NewWebhookPage() {
  const creation = useCreateWebhook();
  const draft = useDraft('webhooks/new', emptyDraft);
  if (creation.data) return <Created webhook={creation.data} />;
  return (
    <>
      <PageHeader title={t`New webhook`} parent={parent} />
      <DraftNotice draft={draft} />
      <WebhookForm
        initial={emptyDraft}
        draft={draft.value}
        onChange={draft.change}
        submitLabel={t`Create webhook`}
        cancelHref="/webhooks"
        isBusy={creation.isPending}
        error={creation.error}
        onSubmit={() => creation.mutate(newBodyOf(draft.value), { onSuccess: draft.forget })}
        onCancel={draft.forget}
      />
    </>
  );
}

interface CreatedProps {
  readonly webhook: CreatedWebhook;
}

/** The way from a new webhook to a receiver that works: its secret, code that verifies, a test, and a contact. */
function Created({ webhook }: CreatedProps) {
  const { data: contacts } = useContacts();
  useEffect(() => {
    // It comes in the place of a form, which may be long, and whose button had the focus.
    window.scrollTo(0, 0);
    document.getElementById('content')?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <PageHeader title={t`Webhook created`} parent={parent}>
        <ButtonLink href={`/webhooks/${webhook.id}`} kind="primary">
          <Trans>Go to the webhook</Trans>
        </ButtonLink>
      </PageHeader>
      <Warnings warnings={webhook.warnings} />
      <Key webhook={webhook} />
      <Section title={t`Verify its requests`}>
        <p>
          <Trans>
            Your receiver calls this with the raw body, the headers and the key, before it reads anything.
          </Trans>
        </p>
        <Suspense fallback={<Skeleton lines={8} />}>
          <VerificationSnippets />
        </Suspense>
      </Section>
      <TestPanel webhook={webhook} />
      {contacts && <WebhookContacts webhookId={webhook.id} contacts={contacts} />}
    </>
  );
}

/** What the receiver verifies with. */
function Key({ webhook: { secret, public_key: publicKey } }: CreatedProps) {
  const maySeeAgain = useCan('secrets');
  return (
    <Section title={secret === null ? t`Public key` : t`Signing secret`}>
      {secret !== null && (
        <>
          <p>
            <Trans>Its requests are signed with this secret. Give it only to the receiver.</Trans>{' '}
            {maySeeAgain ? (
              t`The page of the webhook shows it again.`
            ) : (
              <strong>
                <Trans>
                  Copy it now: it is shown once, and your link does not allow you to see it again.
                </Trans>
              </strong>
            )}
          </p>
          <p className={styles['secret']}>
            <code>{secret}</code>
            <CopyButton text={secret} label={t`Copy the secret`} />
          </p>
        </>
      )}
      {publicKey !== null && (
        <>
          <p>
            <Trans>
              Its requests are signed with a private key. The receiver verifies them with the public key.
            </Trans>
          </p>
          <p className={styles['secret']}>
            <code>{publicKey}</code>
            <CopyButton text={publicKey} label={t`Copy the public key`} />
          </p>
        </>
      )}
    </Section>
  );
}
