import { Dialog } from '@base-ui/react/dialog';
import { type ReactNode, useRef } from 'react';
import { Button } from './button';
import styles from './confirm-dialog.module.css';

export interface DetailsDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** More of a row than the row has room for. Escape, or a click beside it, closes it too. */
export function DetailsDialog({ title, children, onClose }: DetailsDialogProps) {
  // Not the first thing in it that takes the focus: a time would open its tooltip, and Escape close that alone.
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles['backdrop']} />
        <Dialog.Popup ref={popup} initialFocus={popup} className={styles['popup']}>
          <Dialog.Title className={styles['title']}>{title}</Dialog.Title>
          {children}
          <div className={styles['actions']}>
            <Button kind="primary" onClick={onClose}>
              Close
            </Button>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
