import type { ReactNode } from 'react';
import { Button } from './button';
import styles from './confirm-dialog.module.css';
import { Modal } from './modal';

export interface NoticeDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly closeLabel: string;
  readonly onClose: () => void;
}

/** Shows something that can't be shown again: it closes by its button only, not by a key or a click beside it. */
export function NoticeDialog({ title, children, closeLabel, onClose }: NoticeDialogProps) {
  return (
    <Modal kind="question" title={title} description={children}>
      <div className={styles['actions']}>
        <Button kind="primary" onClick={onClose}>
          {closeLabel}
        </Button>
      </div>
    </Modal>
  );
}
