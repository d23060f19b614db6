import { useState } from 'react';
import { useLocation } from 'wouter';
import { useUpdateWebhook, useWebhook, type Webhook } from '../../api/webhook-queries';
import { PageHeader } from '../../components/page-header';
import { Problem } from '../../components/problem';
import { Skeleton } from '../../components/skeleton';
import { useToasts } from '../../components/toasts';
import { bodyOf, type Draft, draftOf } from './draft';
import { patchOf } from './patch-of';
import { WebhookForm } from './webhook-form';

interface EditWebhookPageProps {
  readonly params: Readonly<Record<string, string>>;
}

export function EditWebhookPage({ params: { id = '' } }: EditWebhookPageProps) {
  const { data: webhook, error, refetch } = useWebhook(id);
  return (
    <>
      <PageHeader
        title="Edit webhook"
        parent={{ href: `/webhooks/${id}`, label: webhook?.url ?? 'Webhook' }}
      />
      {error && <Problem error={error} onRetry={() => void refetch()} />}
      {!webhook && !error && <Skeleton lines={10} />}
      {webhook && <EditForm webhook={webhook} />}
    </>
  );
}

function EditForm({ webhook }: { readonly webhook: Webhook }) {
  const [, go] = useLocation();
  const toasts = useToasts();
  const update = useUpdateWebhook(webhook.id);
  const page = `/webhooks/${webhook.id}`;
  // As it was when it was opened: what somebody else changes meanwhile is not taken back.
  const [before] = useState(() => draftOf(webhook));
  const save = (draft: Draft) => {
    const patch = patchOf(bodyOf(before), bodyOf(draft));
    update.mutate(patch, {
      onSuccess: () => {
        toasts.tell('The webhook was changed.');
        go(page);
      },
    });
  };
  return (
    <WebhookForm
      initial={before}
      submitLabel="Save"
      cancelHref={page}
      isBusy={update.isPending}
      error={update.error}
      onSubmit={save}
    />
  );
}
