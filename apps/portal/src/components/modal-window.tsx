import { AlertDialog } from '@base-ui/react/alert-dialog';
import { Dialog } from '@base-ui/react/dialog';
import { type ReactNode, useRef } from 'react';
import styles from './confirm-dialog.module.css';

export interface ModalProps {
  /** `question`: it waits for a decision, and a click beside it does not close it. `details`: nothing in it has the focus at first. */
  readonly kind: 'question' | 'form' | 'details';
  readonly title: string;
  /** Read aloud with the title. */
  readonly description?: ReactNode;
  readonly children: ReactNode;
  /** By the Escape key, or by a click beside it. Absent: only its own buttons close it. */
  readonly onClose?: (() => void) | undefined;
}

/** Over the page, and with the focus in it until it is closed. */
export function ModalWindow({ kind, title, description, children, onClose }: ModalProps) {
  // Not the first thing in it that takes the focus: a time would open its tooltip, and Escape close that alone.
  const popup = useRef<HTMLDivElement>(null);
  const Parts = kind === 'question' ? AlertDialog : Dialog;
  return (
    <Parts.Root open onOpenChange={(open) => !open && onClose?.()}>
      <Parts.Portal>
        <Parts.Backdrop className={styles['backdrop']} />
        <Parts.Popup
          ref={popup}
          className={styles['popup']}
          {...(kind === 'details' && { initialFocus: popup })}
        >
          <Parts.Title className={styles['title']}>{title}</Parts.Title>
          {description && (
            <Parts.Description render={<div className={styles['text']} />}>{description}</Parts.Description>
          )}
          {children}
        </Parts.Popup>
      </Parts.Portal>
    </Parts.Root>
  );
}
