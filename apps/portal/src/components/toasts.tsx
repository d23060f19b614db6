import { Toast } from '@base-ui/react/toast';
import type { ReactNode } from 'react';
import styles from './toasts.module.css';

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider>
      {children}
      <Toast.Portal>
        <Toast.Viewport className={styles['viewport']}>
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      aria-label="Notification"
      className={`${styles['toast']} ${styles[toast.type ?? '']}`}
    >
      <Toast.Content className={styles['content']}>
        <Toast.Description className={styles['text']} />
        {toast.actionProps && <Toast.Action className={styles['action']} />}
        <Toast.Close className={styles['close']} aria-label="Dismiss">
          ✕
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}

export interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

/** Short notes on what was done or failed, perhaps with what takes it back; read aloud without taking the focus. */
export function useToasts() {
  const { add } = Toast.useToastManager();
  return {
    show: (description: string, action?: ToastAction) =>
      add({
        description,
        type: 'told',
        ...(action && { actionProps: { children: action.label, onClick: action.run } }),
      }),
    fail: (description: string) => add({ description, type: 'failed', priority: 'high' }),
  };
}
