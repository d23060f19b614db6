import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { Button } from './button';
import styles from './confirm-dialog.module.css';
import { Modal } from './modal';
import { Problem } from './problem';

export interface ConfirmDialogProps {
  readonly isOpen: boolean;
  readonly title: string;
  /** The consequences, and whether they can be undone. */
  readonly children: ReactNode;
  /** The verb of what is done, such as "Redeliver". */
  readonly confirmLabel: string;
  /** Of the button that leaves everything as it is. */
  readonly closeLabel?: string;
  readonly isDangerous?: boolean;
  readonly isBusy?: boolean;
  readonly error?: Error | null;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

/** Asks before something is done. It stays open until the caller closes it, and shows why it could not be done. */
export function ConfirmDialog({
  isOpen,
  title,
  children,
  confirmLabel,
  closeLabel = t`Cancel`,
  isDangerous = false,
  isBusy = false,
  error = null,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  if (!isOpen) return null;
  return (
    <Modal kind="question" title={title} description={children} onClose={onClose}>
      {error && <Problem error={error} />}
      <div className={styles['actions']}>
        <Button onClick={onClose}>{closeLabel}</Button>
        <Button kind={isDangerous ? 'danger' : 'primary'} isBusy={isBusy} onClick={onConfirm}>
          {confirmLabel}
        </Button>
      </div>
    </Modal>
  );
}
