import { AlertDialog } from '@base-ui/react/alert-dialog';
import type { ReactNode } from 'react';
import { Button } from './button';
import styles from './confirm-dialog.module.css';

export interface NoticeDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly closeLabel: string;
  readonly onClose: () => void;
}

/** Shows something that can't be shown again: it closes by its button only, not by a key or a click beside it. */
export function NoticeDialog({ title, children, closeLabel, onClose }: NoticeDialogProps) {
  return (
    <AlertDialog.Root open>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={styles['backdrop']} />
        <AlertDialog.Popup className={styles['popup']}>
          <AlertDialog.Title className={styles['title']}>{title}</AlertDialog.Title>
          <AlertDialog.Description render={<div className={styles['text']} />}>
            {children}
          </AlertDialog.Description>
          <div className={styles['actions']}>
            <Button kind="primary" onClick={onClose}>
              {closeLabel}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
