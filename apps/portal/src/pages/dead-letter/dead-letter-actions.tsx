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

type Act = 'put back' | 'drop';

/** Puts it back onto its queue, or drops it for good. Either way it is no dead letter any more. */
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
        : ask(api.POST('/v1/dead-letters/{id}/redrive', { params })),
    onSuccess: async (_answer, act) => {
      toasts.show(act === 'drop' ? 'It was dropped.' : `It is back on the queue ${queue}.`);
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
      <Button kind="primary" onClick={() => setAsked('put back')}>
        Put back
      </Button>
      <Button kind="danger" onClick={() => setAsked('drop')}>
        Drop
      </Button>
      {asked && (
        <ConfirmDialog
          isOpen
          isDangerous={asked === 'drop'}
          title={asked === 'drop' ? 'Drop this job for good?' : `Put this job back onto ${queue}?`}
          confirmLabel={asked === 'drop' ? 'Drop' : 'Put back'}
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
  'put back':
    'A worker processes it like a new job. If the cause of the failure still exists, it comes back here.',
  drop: 'Its event is not delivered. The delivery or replay of the job ends as cancelled. This cannot be undone.',
};
