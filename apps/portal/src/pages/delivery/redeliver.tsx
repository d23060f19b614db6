import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { type DeliveryWithAttempts, useRedeliver } from '../../api/delivery-queries';
import { Button } from '../../components/button';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { responseOf } from '../deliveries/response-of';

/** Sends the delivery once more, and shows the result. */
export function Redeliver({ delivery }: { readonly delivery: DeliveryWithAttempts }) {
  const [isAsking, setIsAsking] = useState(false);
  const [attemptsBefore, setAttemptsBefore] = useState<number>();
  const sending = useRedeliver(delivery.id);

  const send = () => {
    const before = delivery.attempt_count;
    sending.mutate(undefined, {
      onSuccess: () => {
        setAttemptsBefore(before);
        setIsAsking(false);
      },
    });
  };
  const close = () => {
    setIsAsking(false);
    sending.reset();
  };

  return (
    <>
      <output aria-live="polite">{attemptsBefore !== undefined && resultOf(delivery, attemptsBefore)}</output>
      <Button kind="primary" onClick={() => setIsAsking(true)}>
        <Trans>Redeliver</Trans>
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t`Redeliver to this webhook?`}
        confirmLabel={t`Redeliver`}
        isBusy={sending.isPending}
        error={sending.error}
        onConfirm={send}
        onClose={close}
      >
        {delivery.status === 'delivered'
          ? t`The receiver has accepted it before. It gets the same event once more, under the same webhook-id.`
          : t`The receiver gets the same event, under the same webhook-id. If that fails too, it is retried as scheduled.`}
      </ConfirmDialog>
    </>
  );
}

/** As they end a sentence. */
const STATUSES: Readonly<Record<DeliveryWithAttempts['status'], string>> = {
  pending: t`pending`,
  held: t`held`,
  delivered: t`delivered`,
  exhausted: t`exhausted`,
  aborted: t`aborted`,
  cancelled: t`cancelled`,
  superseded: t`superseded`,
};

function resultOf(delivery: DeliveryWithAttempts, attemptsBefore: number): string {
  const last = delivery.attempts.at(-1);
  if (delivery.attempt_count <= attemptsBefore || !last) {
    return delivery.status === 'held' ? t`It is held: see below` : t`Sending…`;
  }
  const response = responseOf({ last_outcome: last.outcome, last_response_status: last.response_status });
  const status = STATUSES[delivery.status];
  return t`Redelivered: ${response}, ${status}`;
}
