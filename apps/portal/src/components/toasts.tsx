import { t } from '@lingui/core/macro';
import {
  createContext,
  type FocusEvent,
  type ReactNode,
  use,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Button } from './button';
import styles from './toasts.module.css';

const SHOWN_MS = 5_000;
/** More would cover the page: the oldest goes. */
const MOST = 3;

export interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

interface Toast {
  readonly id: number;
  readonly kind: 'told' | 'failed';
  readonly text: string;
  readonly action?: ToastAction | undefined;
}

/** Short notes on what was done or failed, perhaps with what takes it back; read aloud without taking the focus. */
interface Toasts {
  readonly show: (text: string, action?: ToastAction) => void;
  readonly fail: (text: string) => void;
}

const ToastsContext = createContext<Toasts>({ show: () => {}, fail: () => {} });

export const useToasts = () => use(ToastsContext);

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [shown, setShown] = useState<readonly Toast[]>([]);
  const last = useRef(0);
  const toasts = useMemo((): Toasts => {
    const add = (toast: Omit<Toast, 'id'>) => {
      last.current += 1;
      const id = last.current;
      setShown((before) => [...before.slice(1 - MOST), { ...toast, id }]);
    };
    return {
      show: (text, action) => add({ kind: 'told', text, action }),
      fail: (text) => add({ kind: 'failed', text }),
    };
  }, []);
  const close = (id: number) => setShown((before) => before.filter((toast) => toast.id !== id));
  return (
    <ToastsContext value={toasts}>
      {children}
      {/* There from the start: screen readers read out what comes into it. */}
      <section className={styles['viewport']} aria-label={t`Notifications`} aria-live="polite">
        {shown.map((toast) => (
          <ToastNote key={toast.id} toast={toast} onClose={() => close(toast.id)} />
        ))}
      </section>
    </ToastsContext>
  );
}

interface ToastNoteProps {
  readonly toast: Toast;
  readonly onClose: () => void;
}

/** It goes after a while, but not while somebody points at it or has the focus in it. */
function ToastNote({ toast: { kind, text, action }, onClose }: ToastNoteProps) {
  const [isPointedAt, setIsPointedAt] = useState(false);
  const [hasFocus, setHasFocus] = useState(false);
  const isKept = isPointedAt || hasFocus;
  const closeLater = useEffectEvent(onClose);
  useEffect(() => {
    if (isKept) return undefined;
    const timer = setTimeout(() => closeLater(), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isKept]);
  const leave = ({ currentTarget, relatedTarget }: FocusEvent) =>
    setHasFocus(currentTarget.contains(relatedTarget));
  return (
    <div
      className={`${styles['toast']} ${styles[kind]}`}
      role={kind === 'failed' ? 'alert' : undefined}
      onPointerEnter={() => setIsPointedAt(true)}
      onPointerLeave={() => setIsPointedAt(false)}
      onFocus={() => setHasFocus(true)}
      onBlur={leave}
    >
      <div className={styles['content']}>
        <p className={styles['text']}>{text}</p>
        {action && (
          <Button
            size="small"
            onClick={() => {
              action.run();
              onClose();
            }}
          >
            {action.label}
          </Button>
        )}
        <button type="button" className={styles['close']} aria-label={t`Dismiss`} onClick={onClose}>
          ✕
        </button>
      </div>
    </div>
  );
}
