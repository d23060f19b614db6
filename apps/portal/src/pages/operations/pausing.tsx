import { select, t } from '@lingui/core/macro';
import { Plural, Trans } from '@lingui/react/macro';
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
  const { kind, id } = subject;
  // By its promise: callbacks of `mutate` are not called once the button has gone, as it does from a list of what is paused.
  const resume = () =>
    void pausing.mutateAsync({ act: 'resume' }).then(
      () =>
        toasts.show(
          select(kind, {
            queue: `The queue ${id} is resumed: its jobs do not wait any more.`,
            other: `The account ${id} is resumed: deliveries that waited are sent now.`,
          }),
        ),
      ({ message }: Error) => toasts.fail(message),
    );
  const pause = (reason: string) =>
    pausing.mutate(
      { act: 'pause', reason },
      {
        onSuccess: () => {
          setIsAsking(false);
          const text = select(kind, {
            queue: `The queue ${id} is paused.`,
            other: `The account ${id} is paused.`,
          });
          toasts.show(text, { label: t`Resume`, run: resume });
        },
      },
    );
  return (
    <>
      <Button
        size={size}
        isBusy={pausing.isPending && !isAsking}
        aria-label={size === 'small' ? longLabel(subject, isPaused) : undefined}
        onClick={() => (isPaused ? resume() : setIsAsking(true))}
      >
        {shortLabel(label, isPaused)}
      </Button>
      {isAsking && (
        <PauseDialog
          subject={subject}
          title={select(kind, { queue: `Pause the queue ${id}?`, other: `Pause the account ${id}?` })}
          isBusy={pausing.isPending}
          error={pausing.error}
          onPause={pause}
          onClose={() => setIsAsking(false)}
        />
      )}
    </>
  );
}

function shortLabel(label: string, isPaused: boolean): string {
  if (label === '') return isPaused ? t`Resume` : t`Pause…`;
  return isPaused ? t`Resume ${label}` : t`Pause ${label}…`;
}

function longLabel({ kind, id }: PauseSubject, isPaused: boolean): string {
  if (kind === 'queue') return isPaused ? t`Resume the queue ${id}` : t`Pause the queue ${id}`;
  return isPaused ? t`Resume the account ${id}` : t`Pause the account ${id}`;
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
      submitLabel={t`Pause`}
      isBusy={isBusy}
      error={error}
      onSubmit={() => onPause(reason)}
      onClose={onClose}
    >
      {subject.kind === 'account' ? <OfAccount id={subject.id} /> : <p>{OF_QUEUE[subject.id]}</p>}
      <TextField
        label={t`Reason`}
        hint={t`Other operators read it here and in the audit log.`}
        required
        maxLength={300}
        value={reason}
        onChange={({ target }) => setReason(target.value)}
      />
    </FormDialog>
  );
}

const OF_QUEUE = {
  deliveries: t`No account gets deliveries until you resume the queue. Events are accepted and wait. Attempts that run now are finished.`,
  events: t`Events that producers push onto the queue, and events for many webhooks, wait until you resume it. Other events are delivered.`,
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
      {usage ? (
        <Plural
          value={usage.webhooks}
          one="Its # webhook gets no deliveries until you resume the account."
          other="Its # webhooks get no deliveries until you resume the account."
        />
      ) : (
        <Trans>Its webhooks get no deliveries until you resume the account.</Trans>
      )}{' '}
      <Trans>Its events are accepted, and its deliveries wait.</Trans>
    </p>
  );
}

/** Who has paused it, since when, and why. `null`: an earlier version did, which did not note it. */
export function PausedBy({ pause }: { readonly pause: Pause | null }) {
  if (!pause) return t`Paused.`;
  const { paused_at: at, reason } = pause;
  const actor = actorText(pause.by);
  if (reason === null) {
    return (
      <Trans>
        Paused since <Time at={at} /> by {actor}.
      </Trans>
    );
  }
  return (
    <Trans>
      Paused since <Time at={at} /> by {actor}: {reason}
    </Trans>
  );
}
