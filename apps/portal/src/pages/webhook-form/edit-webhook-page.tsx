import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useLocation } from 'wouter';
import { useEventTypes } from '../../api/event-type-queries';
import { type ReadWebhook, useUpdateWebhook, useWebhook } from '../../api/webhook-queries';
import { ButtonLink } from '../../components/button-link';
import { DraftNotice, useDraft } from '../../components/drafts';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';
import { nameOf } from '../deliveries/webhook-names';
import { PageHeader } from '../page-header';
import { bodyOf, type Draft, draftOf } from './draft';
import { patchOf } from './patch-of';
import { rebaseDraft } from './rebase-draft';
import { Warnings } from './warnings';
import { WebhookForm } from './webhook-form';

interface EditWebhookPageProps {
  readonly params: Readonly<Record<string, string>>;
}

export function EditWebhookPage({ params: { id = '' } }: EditWebhookPageProps) {
  const { data: webhook, error, refetch } = useWebhook(id);
  // The form has them in its middle, and all of it comes at once.
  const types = useEventTypes();
  const isReady = webhook !== undefined && !types.isPending;
  const readAgain = async () => {
    const read = await refetch();
    return read.isSuccess ? read.data : undefined;
  };
  return (
    <>
      <PageHeader
        title={t`Edit webhook`}
        parent={{ href: `/webhooks/${id}`, label: webhook ? nameOf(webhook) : t`Webhook` }}
      />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!isReady && !error && <Skeleton lines={10} />}
      {webhook && isReady && <EditForm key={webhook.id} webhook={webhook} readAgain={readAgain} />}
    </>
  );
}

interface Edited {
  readonly webhook: ReadWebhook;
  readonly draft: Draft;
}

interface EditFormProps {
  readonly webhook: ReadWebhook;
  readonly readAgain: () => Promise<ReadWebhook | undefined>;
}

function EditForm({ webhook, readAgain }: EditFormProps) {
  const [, go] = useLocation();
  const toasts = useToasts();
  const update = useUpdateWebhook(webhook.id);
  const page = `/webhooks/${webhook.id}`;
  // With the webhook as it was when it was opened: what somebody else changes meanwhile is not taken back.
  const kept = useDraft<Edited>(`webhooks/${webhook.id}`, { webhook, draft: draftOf(webhook) });
  const { webhook: opened, draft } = kept.value;
  const maySeeSecrets = useCan('secrets');
  const before = draftOf(opened);
  const save = () => {
    const change = { body: patchOf(bodyOf(before), bodyOf(draft)), etag: opened.etag };
    update.mutate(change, {
      onSuccess: ({ warnings }) => {
        kept.forget();
        toasts.show(t`The webhook was changed.`);
        if (warnings.length === 0) go(page);
      },
    });
  };
  const reload = async () => {
    const now = await readAgain();
    if (!now) return;
    update.reset();
    kept.change({ webhook: now, draft: rebaseDraft(draft, before, draftOf(now)) });
    toasts.show(t`This is the webhook as it is now, with your changes.`);
  };
  if (update.data && update.data.warnings.length > 0) {
    return (
      <>
        <Warnings warnings={update.data.warnings} />
        <ButtonLink href={page} kind="primary">
          <Trans>Go to the webhook</Trans>
        </ButtonLink>
      </>
    );
  }
  return (
    <>
      <DraftNotice draft={kept} />
      <WebhookForm
        // Another form when it is filled again.
        key={opened.etag}
        initial={before}
        draft={draft}
        onChange={(changed) => kept.change({ webhook: opened, draft: changed })}
        submitLabel={t`Save`}
        cancelHref={page}
        isBusy={update.isPending}
        error={update.error}
        keptFor={maySeeSecrets ? undefined : opened.url}
        onSubmit={save}
        onReload={() => void reload()}
        onCancel={kept.forget}
      />
    </>
  );
}
