import { useState } from 'react';
import { useLocation } from 'wouter';
import {
  useDeleteWebhook,
  useDiscardHeld,
  useSwitchWebhook,
  type Webhook,
  type WebhookWithHealth,
} from '../../api/webhook-queries';
import { Button } from '../../components/button';
import { ButtonLink } from '../../components/button-link';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { useToasts } from '../../components/toasts';
import { useCan } from '../../session/session-context';
import { formatCount } from '../webhooks/health-figures';

/** The actions on a webhook that the session may take. */
export function WebhookActions({ webhook }: { readonly webhook: WebhookWithHealth }) {
  const mayChange = useCan('webhooks');
  const mayReplay = useCan('redeliver');
  return (
    <>
      {mayReplay && <ButtonLink href={`/webhooks/${webhook.id}/replay`}>Replay…</ButtonLink>}
      {mayChange && (
        <ButtonLink
          href={`/webhooks/${webhook.id}/edit`}
          kind={webhook.status === 'disabled' ? 'plain' : 'primary'}
        >
          Edit
        </ButtonLink>
      )}
      {mayChange && <Switch webhook={webhook} />}
      {mayChange && webhook.health.held > 0 && <Discarding webhook={webhook} />}
      {mayChange && <Deletion webhook={webhook} />}
    </>
  );
}

/** Enabling is done at once; disabling asks first, and can be taken back at once. */
function Switch({ webhook: { id, status, while_disabled: whileDisabled } }: { readonly webhook: Webhook }) {
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
        const what = whileDisabled === 'discard' ? 'discarded' : 'held';
        toasts.show(`Disabled: deliveries are ${what}.`, { label: 'Undo', run: enable });
      },
    });
  if (status === 'disabled') {
    return (
      <Button kind="primary" isBusy={change.isPending} onClick={enable}>
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
        <p>{`Nothing is sent any more. ${MEANWHILE[whileDisabled]}`}</p>
      </ConfirmDialog>
    </>
  );
}

const MEANWHILE: Readonly<Record<Webhook['while_disabled'], string>> = {
  hold: 'Deliveries are held, and sent when the webhook is enabled again.',
  discard:
    'Deliveries that become due are discarded, as its settings say: they are not sent when the webhook is enabled again.',
};

function Discarding({ webhook: { id, health } }: { readonly webhook: WebhookWithHealth }) {
  const [isAsking, setIsAsking] = useState(false);
  const toasts = useToasts();
  const discarding = useDiscardHeld(id);
  const discard = () =>
    discarding.mutate(undefined, {
      onSuccess: ({ discarded }) => {
        setIsAsking(false);
        toasts.show(`Held deliveries that are being discarded: ${formatCount(discarded)}`);
      },
    });
  return (
    <>
      <Button onClick={() => setIsAsking(true)}>Discard held…</Button>
      <ConfirmDialog
        isOpen={isAsking}
        title="Discard what is held?"
        confirmLabel="Discard"
        isDangerous
        isBusy={discarding.isPending}
        error={discarding.error}
        onConfirm={discard}
        onClose={() => setIsAsking(false)}
      >
        <p>
          {`Deliveries held now: ${formatCount(health.held)}. They end as cancelled, and are not sent when the webhook is enabled. Later ones are not affected. A replay can send them, as long as their events are kept.`}
        </p>
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
      <Button kind="quiet" onClick={() => setIsAsking(true)}>
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
