import { useState } from 'react';
import { useLocation } from 'wouter';
import { useDeleteWebhook, useSwitchWebhook, type Webhook } from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { ButtonLink } from '../../components/button-link';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';

/** The actions on a webhook that the session may take. */
export function WebhookActions({ webhook }: { readonly webhook: Webhook }) {
  const mayChange = useCan('webhooks');
  const mayReplay = useCan('redeliver');
  return (
    <>
      {mayReplay && <ButtonLink href={`/webhooks/${webhook.id}/replay`}>Replay…</ButtonLink>}
      {mayChange && <ButtonLink href={`/webhooks/${webhook.id}/edit`}>Edit</ButtonLink>}
      {mayChange && <Switch webhook={webhook} />}
      {mayChange && <Deletion webhook={webhook} />}
    </>
  );
}

/** Enabling is done at once; disabling asks first, and can be taken back at once. */
function Switch({ webhook: { id, status } }: { readonly webhook: Webhook }) {
  const [isAsking, setIsAsking] = useState(false);
  const toasts = useToasts();
  const change = useSwitchWebhook(id);
  const enable = () =>
    change.mutate('enable', {
      onSuccess: () => toasts.show('Enabled: held deliveries are sent now.'),
      onError: ({ message }) => toasts.fail(message),
    });
  const disable = () =>
    change.mutate('disable', {
      onSuccess: () => {
        setIsAsking(false);
        toasts.show('Disabled: deliveries are held.', { label: 'Undo', run: enable });
      },
    });
  if (status === 'disabled') {
    return (
      <Button isBusy={change.isPending} onClick={enable}>
        Enable
      </Button>
    );
  }
  return (
    <>
      <Button isBusy={change.isPending} onClick={() => setIsAsking(true)}>
        Disable
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title="Disable this webhook?"
        confirmLabel="Disable"
        isBusy={change.isPending}
        error={change.error}
        onConfirm={disable}
        onClose={() => setIsAsking(false)}
      >
        <p>Nothing is sent any more. Deliveries are held, and sent when the webhook is enabled again.</p>
      </ConfirmDialog>
    </>
  );
}

function Deletion({ webhook: { id, url } }: { readonly webhook: Webhook }) {
  const [isAsking, setIsAsking] = useState(false);
  const [, go] = useLocation();
  const toasts = useToasts();
  const deletion = useDeleteWebhook(id);
  const remove = () =>
    deletion.mutate(undefined, {
      onSuccess: () => {
        toasts.show('The webhook was deleted.');
        go('/webhooks');
      },
    });
  return (
    <>
      <Button kind="danger" onClick={() => setIsAsking(true)}>
        Delete
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title="Delete this webhook?"
        confirmLabel="Delete"
        isDangerous
        isBusy={deletion.isPending}
        error={deletion.error}
        onConfirm={remove}
        onClose={() => setIsAsking(false)}
      >
        <p>
          <code>{url}</code> gets nothing any more, and what is pending for it is cancelled. This can’t be
          taken back; to stop for a while, disable it.
        </p>
      </ConfirmDialog>
    </>
  );
}
