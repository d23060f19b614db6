import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useState } from 'react';
import { type ScheduleChange, useChangeSchedule } from '../../api/event-queries';
import { ProblemError } from '../../api/problem';
import { Button, type ButtonProps } from '../../components/button';
import { ConfirmDialog } from '../../components/confirm-dialog';
import { TextField } from '../../components/field';
import { FormDialog } from '../../components/form-dialog';
import { Time } from '../../components/time';
import { useToasts } from '../../components/toasts';
import { formatTime } from '../../language/formats';
import { fromLocalInput, toLocalInput } from '../replay/range';
import styles from './events-page.module.css';

/** A change of an event that waits for its time, which somebody began and has to confirm. */
export interface ScheduleWish {
  readonly kind: ScheduleChange['kind'];
  readonly id: string;
  readonly type: string;
  /** The due time: RFC 3339. */
  readonly at: string;
}

export interface ScheduleActionsProps extends Pick<ButtonProps, 'size'>, Omit<ScheduleWish, 'kind'> {
  readonly onAsk: (wish: ScheduleWish) => void;
}

/** The buttons that begin to move an event that waits for its time, or to cancel it. */
export function ScheduleActions({ id, type, at, size = 'normal', onAsk }: ScheduleActionsProps) {
  return (
    <span className={styles['actions']}>
      <Button
        size={size}
        aria-label={t`Move ${type}, ${id}`}
        onClick={() => onAsk({ kind: 'move', id, type, at })}
      >
        <Trans context="to another time">Move</Trans>
      </Button>
      <Button
        size={size}
        aria-label={t`Cancel ${type}, ${id}`}
        onClick={() => onAsk({ kind: 'cancel', id, type, at })}
      >
        <Trans context="to not send an event">Cancel</Trans>
      </Button>
    </span>
  );
}

function changedText(change: ScheduleChange): string {
  if (change.kind === 'cancel') return t`It was cancelled: it is not delivered.`;
  const time = formatTime(new Date(change.to));
  return t`It is now due ${time}.`;
}

interface ScheduleDialogProps {
  readonly wish: ScheduleWish;
  readonly onClose: () => void;
}

/**
 * Asks for what a change needs, and makes it. It belongs to the page, not to what shows the event: a row goes when its
 * event becomes due, and its viewer, who is about to cancel it, has to hear of that.
 */
export function ScheduleDialog({ wish: { kind, id, type, at }, onClose }: ScheduleDialogProps) {
  const toasts = useToasts();
  const { mutate, isPending, error } = useChangeSchedule(id);
  // Nothing would say how a change went whose dialog is gone.
  const close = () => {
    if (!isPending) onClose();
  };
  const change = (wanted: ScheduleChange) =>
    mutate(wanted, {
      onSuccess: () => {
        toasts.show(changedText(wanted));
        onClose();
      },
      onError: (problem) => {
        if (!(problem instanceof ProblemError) || problem.code !== 'already_due') return;
        toasts.fail(t`It is due already, so it could not be changed.`);
        onClose();
      },
    });
  if (kind === 'move')
    return (
      <MoveDialog
        at={at}
        isBusy={isPending}
        error={error}
        onMove={(to) => change({ kind: 'move', to })}
        onClose={close}
      />
    );
  return (
    <ConfirmDialog
      isOpen
      isDangerous
      title={t`Cancel this event?`}
      confirmLabel={t`Cancel the event`}
      closeLabel={t`Keep it`}
      isBusy={isPending}
      error={error}
      onConfirm={() => change({ kind: 'cancel' })}
      onClose={close}
    >
      <p>
        <Trans>
          {type} is due <Time at={at} form="short" />. It stays in the list, and is not delivered. This can
          not be undone.
        </Trans>
      </p>
    </ConfirmDialog>
  );
}

interface MoveDialogProps {
  readonly at: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onMove: (to: string) => void;
  readonly onClose: () => void;
}

function MoveDialog({ at, isBusy, error, onMove, onClose }: MoveDialogProps) {
  const [text, setText] = useState(() => toSeconds(new Date(at)));
  const to = fromLocalInput(text);
  return (
    <FormDialog
      title={t`Reschedule`}
      submitLabel={t({ message: 'Move', context: 'to another time' })}
      isBusy={isBusy}
      error={error}
      onSubmit={() => to !== undefined && onMove(to)}
      onClose={onClose}
    >
      <TextField
        label={t`Send it at`}
        hint={t`In your time zone. A time of up to a minute ago means now.`}
        type="datetime-local"
        step={1}
        required
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
    </FormDialog>
  );
}

/** As the field has it, to the second. */
const toSeconds = (time: Date) => `${toLocalInput(time)}:${String(time.getSeconds()).padStart(2, '0')}`;
