import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
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
import { formatCount } from '../../language/formats';
import { useCan } from '../../session/session-context';

/** The actions on a webhook that the session may take. */
export function WebhookActions({ webhook }: { readonly webhook: WebhookWithHealth }) {
  const mayChange = useCan('webhooks');
  const mayReplay = useCan('redeliver');
  return (
    <>
      {mayReplay && (
        <ButtonLink href={`/webhooks/${webhook.id}/replay`}>
          <Trans>Replay…</Trans>
        </ButtonLink>
      )}
      {mayChange && (
        <ButtonLink
          href={`/webhooks/${webhook.id}/edit`}
          kind={webhook.status === 'disabled' ? 'plain' : 'primary'}
        >
          <Trans>Edit</Trans>
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
      onSuccess: () => toasts.show(t`Enabled: held deliveries are sent now.`),
      onError: ({ message }) => toasts.fail(message),
    });
  const disable = () =>
    change.mutate('disable', {
      onSuccess: () => {
        setIsAsking(false);
        const text =
          whileDisabled === 'discard'
            ? t`Disabled: deliveries are discarded.`
            : t`Disabled: deliveries are held.`;
        toasts.show(text, { label: t`Undo`, run: enable });
      },
    });
  if (status === 'disabled') {
    return (
      <Button kind="primary" isBusy={change.isPending} onClick={enable}>
        <Trans>Enable</Trans>
      </Button>
    );
  }
  return (
    <>
      <Button isBusy={change.isPending} onClick={() => setIsAsking(true)}>
        <Trans>Disable</Trans>
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t`Disable this webhook?`}
        confirmLabel={t`Disable`}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={disable}
        onClose={() => setIsAsking(false)}
      >
        <p>
          <Trans>Nothing is sent any more.</Trans> {MEANWHILE[whileDisabled]}
        </p>
      </ConfirmDialog>
    </>
  );
}

const MEANWHILE: Readonly<Record<Webhook['while_disabled'], string>> = {
  hold: t`Deliveries are held, and sent when the webhook is enabled again.`,
  discard: t`Deliveries that become due are discarded, as its settings say: they are not sent when the webhook is enabled again.`,
};

function Discarding({ webhook: { id, health } }: { readonly webhook: WebhookWithHealth }) {
  const [isAsking, setIsAsking] = useState(false);
  const toasts = useToasts();
  const discarding = useDiscardHeld(id);
  const held = formatCount(health.held);
  const discard = () =>
    discarding.mutate(undefined, {
      onSuccess: ({ discarded }) => {
        setIsAsking(false);
        const count = formatCount(discarded);
        toasts.show(t`Held deliveries that are being discarded: ${count}`);
      },
    });
  return (
    <>
      <Button onClick={() => setIsAsking(true)}>
        <Trans>Discard held…</Trans>
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t`Discard what is held?`}
        confirmLabel={t`Discard`}
        isDangerous
        isBusy={discarding.isPending}
        error={discarding.error}
        onConfirm={discard}
        onClose={() => setIsAsking(false)}
      >
        <p>
          <Trans>
            Deliveries held now: {held}. They end as cancelled, and are not sent when the webhook is enabled.
            Later ones are not affected. A replay can send them, as long as their events are kept.
          </Trans>
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
        toasts.show(t`The webhook was deleted.`);
        go('/webhooks');
      },
    });
  return (
    <>
      <Button kind="quiet" onClick={() => setIsAsking(true)}>
        <Trans>Delete</Trans>
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t`Delete this webhook?`}
        confirmLabel={t`Delete`}
        isDangerous
        isBusy={deletion.isPending}
        error={deletion.error}
        onConfirm={remove}
        onClose={() => setIsAsking(false)}
      >
        <p>
          <Trans>
            <code>{url}</code> gets nothing any more, and what is pending for it is cancelled. This can’t be
            taken back; to stop for a while, disable it.
          </Trans>
        </p>
      </ConfirmDialog>
    </>
  );
}
