import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useApi } from '../../api/api-context';
import { ask } from '../../api/ask';
import { type Pause, type PauseSubject, usePausing } from '../../api/pause-queries';
import { queryKeys } from '../../api/query-keys';
import { Button } from '../../components/button';
import { TextField } from '../../components/field';
import { FormDialog } from '../../components/form-dialog';
import { Time } from '../../components/time';
import { useToasts } from '../../components/toasts';
import { actorText } from '../audit-log/audit-texts';

export interface PauseSwitchProps {
  readonly subject: PauseSubject;
  readonly isPaused: boolean;
  /** Of the button, where nothing beside it says what it pauses: such as "deliveries". */
  readonly label?: string;
  readonly size?: 'normal' | 'small';
}

/** Pausing asks first, and can be taken back at once. */
export function PauseSwitch({ subject, isPaused, label = '', size = 'normal' }: PauseSwitchProps) {
  const [isAsking, setIsAsking] = useState(false);
  const toasts = useToasts();
  const pausing = usePausing(subject);
  const name = subject.kind === 'queue' ? `The queue ${subject.id}` : `The account ${subject.id}`;
  const resume = () =>
    pausing.mutate(
      { act: 'resume' },
      {
        onSuccess: () => toasts.show(`${name} is resumed: what waited is sent now.`),
        onError: ({ message }) => toasts.fail(message),
      },
    );
  const pause = (reason: string) =>
    pausing.mutate(
      { act: 'pause', reason },
      {
        onSuccess: () => {
          setIsAsking(false);
          toasts.show(`${name} is paused.`, { label: 'Resume', run: resume });
        },
      },
    );
  const verb = isPaused ? 'Resume' : 'Pause';
  return (
    <>
      <Button
        size={size}
        isBusy={pausing.isPending && !isAsking}
        aria-label={size === 'small' ? `${verb} ${name.toLowerCase()}` : undefined}
        onClick={() => (isPaused ? resume() : setIsAsking(true))}
      >
        {[verb, label].join(' ').trim()}
        {!isPaused && '…'}
      </Button>
      {isAsking && (
        <PauseDialog
          subject={subject}
          title={`Pause ${name.toLowerCase()}?`}
          isBusy={pausing.isPending}
          error={pausing.error}
          onPause={pause}
          onClose={() => setIsAsking(false)}
        />
      )}
    </>
  );
}

interface PauseDialogProps {
  readonly subject: PauseSubject;
  readonly title: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onPause: (reason: string) => void;
  readonly onClose: () => void;
}

function PauseDialog({ subject, title, isBusy, error, onPause, onClose }: PauseDialogProps) {
  const [reason, setReason] = useState('');
  return (
    <FormDialog
      title={title}
      submitLabel="Pause"
      isBusy={isBusy}
      error={error}
      onSubmit={() => onPause(reason)}
      onClose={onClose}
    >
      {subject.kind === 'account' ? <OfAccount id={subject.id} /> : <p>{OF_QUEUE[subject.id]}</p>}
      <TextField
        label="Reason"
        hint="Other operators read it here and in the audit log."
        required
        maxLength={300}
        value={reason}
        onChange={({ target }) => setReason(target.value)}
      />
    </FormDialog>
  );
}

const OF_QUEUE = {
  deliveries:
    'No account gets deliveries until you resume the queue. Events are accepted and wait. Attempts that run now are finished.',
  events:
    'Events that producers push onto the queue, and events for many webhooks, wait until you resume it. Other events are delivered.',
} as const;

function OfAccount({ id }: { readonly id: string }) {
  const api = useApi();
  const { data: usage } = useQuery({
    queryKey: queryKeys.accountUsage(id),
    queryFn: ({ signal }) =>
      ask(api.GET('/v1/account/usage', { params: { header: { 'X-Account-Id': id } }, signal })),
  });
  return (
    <p>
      {usage ? webhooksOf(usage.webhooks) : 'Its webhooks get'} no deliveries until you resume the account.
      Its events are accepted, and its deliveries wait.
    </p>
  );
}

const webhooksOf = (count: number) =>
  count === 1 ? 'Its 1 webhook gets' : `Its ${count.toLocaleString()} webhooks get`;

/** Who has paused it, since when, and why. `null`: an earlier version did, which did not note it. */
export function PausedBy({ pause }: { readonly pause: Pause | null }) {
  if (!pause) return 'Paused.';
  return (
    <>
      Paused since <Time at={pause.paused_at} /> by {actorText(pause.by)}
      {pause.reason === null ? '.' : `: ${pause.reason}`}
    </>
  );
}
