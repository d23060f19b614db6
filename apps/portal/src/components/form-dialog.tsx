import { t } from '@lingui/core/macro';
import type { FormEvent, ReactNode } from 'react';
import { Button } from './button';
import styles from './confirm-dialog.module.css';
import { DraftNotice, type EarlierDraft } from './drafts';
import { Modal } from './modal';
import { Problem } from './problem';

export interface FormDialogProps {
  readonly title: string;
  /** The fields. */
  readonly children: ReactNode;
  /** The verb of what is done, such as "Create". */
  readonly submitLabel: string;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onSubmit: () => void;
  readonly onClose: () => void;
  /** The state of the fields. It outlives the dialog, unless "Cancel" closes it. */
  readonly draft?: EarlierDraft;
}

/** A short form over the page. It stays open until the caller closes it, and shows why it could not be done. */
export function FormDialog({
  title,
  children,
  submitLabel,
  isBusy,
  error,
  onSubmit,
  onClose,
  draft,
}: FormDialogProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  const cancel = () => {
    draft?.forget();
    onClose();
  };
  return (
    <Modal kind="form" title={title} onClose={onClose}>
      <form className={styles['form']} onSubmit={submit}>
        {draft && <DraftNotice draft={draft} />}
        {children}
        {error && <Problem error={error} />}
        <div className={styles['actions']}>
          <Button onClick={cancel}>{t`Cancel`}</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            {submitLabel}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
