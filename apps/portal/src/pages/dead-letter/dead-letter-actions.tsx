import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { queryKeys } from '../../api/query-keys';
import { Button } from '../../components/button';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { useToasts } from '../../components/toasts';

export interface DeadLetterActionsProps {
  readonly id: string;
  readonly queue: string;
}

type Act = 'retry' | 'drop';

/** Retries it, or drops it for good. Either way it is no dead letter any more. */
export function DeadLetterActions({ id, queue }: DeadLetterActionsProps) {
  const api = useApi();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [, navigate] = useLocation();
  const [asked, setAsked] = useState<Act>();
  const params = { path: { id } };
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (act: Act) =>
      act === 'drop'
        ? ask(api.DELETE('/v1/dead-letters/{id}', { params }))
        : ask(api.POST('/v1/dead-letters/{id}/retry', { params })),
    onSuccess: async (_response, act) => {
      toasts.show(act === 'drop' ? t`It was dropped.` : t`It is back on the queue ${queue}.`);
      navigate('/dead-letters', { replace: true });
      queries.removeQueries({ queryKey: queryKeys.deadLetter(id) });
      await queries.invalidateQueries({ queryKey: ['dead-letters'] });
    },
  });
  const close = () => {
    setAsked(undefined);
    reset();
  };
  return (
    <>
      <Button kind="primary" onClick={() => setAsked('retry')}>
        <Trans>Retry</Trans>
      </Button>
      <Button kind="danger" onClick={() => setAsked('drop')}>
        <Trans>Drop</Trans>
      </Button>
      {asked && (
        <ConfirmDialog
          isOpen
          isDangerous={asked === 'drop'}
          title={asked === 'drop' ? t`Drop this job for good?` : t`Retry this job?`}
          confirmLabel={asked === 'drop' ? t`Drop` : t`Retry`}
          isBusy={isPending}
          error={error}
          onConfirm={() => mutate(asked)}
          onClose={close}
        >
          <p>{CONSEQUENCES[asked]}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

const CONSEQUENCES: Readonly<Record<Act, string>> = {
  retry: t`It goes back onto its queue, and a worker processes it like a new job. If the cause of the failure still exists, it comes back here.`,
  drop: t`Its event is not delivered. The delivery or replay of the job ends as cancelled. This cannot be undone.`,
};
