import { t } from '@lingui/core/macro';
import type { ReactNode } from 'react';
import { Button } from './button';
import styles from './confirm-dialog.module.css';
import { Modal } from './modal';

export interface DetailsDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** More of a row than the row has room for. Escape, or a click beside it, closes it too. */
export function DetailsDialog({ title, children, onClose }: DetailsDialogProps) {
  return (
    <Modal kind="details" title={title} onClose={onClose}>
      {children}
      <div className={styles['actions']}>
        <Button kind="primary" onClick={onClose}>
          {t`Close`}
        </Button>
      </div>
    </Modal>
  );
}
