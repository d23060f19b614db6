import {
  type KeyboardEvent,
  lazy,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  Suspense,
  useContext,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import styles from './tip.module.css';
import type { TipPopupProps } from './tip-popup';
import { FocusedRow } from './use-row-focus';

// Nobody points for so long at what the pointer only passes.
const POINTED_AT_MS = 300;

export const loadTip = async () => await import('./tip-popup');

const Popup = lazy(async () => {
  // One that could not be loaded is no reason to lose the page.
  const loaded = await loadTip().catch(() => undefined);
  return { default: loaded?.TipPopup ?? Nothing };
});

const Nothing = (_props: TipPopupProps) => null;

export interface TipProps {
  readonly tip: ReactNode;
  /** For screen readers, where the tip has more to say than what it is of. */
  readonly description?: string | undefined;
  /** A stop of the tab key. What is none tells its tip in a table while its row has the focus. */
  readonly isStop: boolean;
  readonly children: ReactNode;
}

/** Tells more when it is pointed at, tapped on, or has the focus; Escape ends that. */
export function Tip({ tip, description, isStop, children }: TipProps) {
  const id = useId();
  const element = useRef<HTMLElement>(null);
  const { shown, handlers } = usePointedAt();
  const isInFocusedRow = useContext(FocusedRow) === true && !isStop;
  return (
    <>
      {isStop ? (
        <button
          type="button"
          ref={element as RefObject<HTMLButtonElement | null>}
          className={styles['trigger']}
          aria-describedby={description === undefined ? undefined : id}
          {...handlers}
        >
          {children}
        </button>
      ) : (
        // oxlint-disable-next-line jsx-a11y/no-static-element-interactions, jsx-a11y/click-events-have-key-events -- its row is what keys reach
        <span ref={element} data-tip="" {...handlers}>
          {children}
        </span>
      )}
      {description !== undefined && (
        <span id={id} hidden>
          {description}
        </span>
      )}
      {(shown ?? isInFocusedRow) && (
        <Suspense fallback={null}>
          <Popup anchor={element} container={shown ? shown.container : content()}>
            {tip}
          </Popup>
        </Suspense>
      )}
    </>
  );
}

interface Shown {
  /** Default: the page. */
  readonly container: HTMLElement | null;
}

/** What is open without being pointed at is content, which has to be within a landmark. */
const content = () => document.getElementById('content');

/** A dialog is above the page's content. */
const shownFor = (element: HTMLElement): Shown => ({
  container: element.closest('[role="dialog"], [role="alertdialog"]') ? null : content(),
});

/** After a moment of pointing, with the focus, or by a tap. */
function usePointedAt() {
  const [shown, setShown] = useState<Shown>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const show = ({ currentTarget }: { readonly currentTarget: HTMLElement }) =>
    setShown(shownFor(currentTarget));
  const stop = () => {
    clearTimeout(timer.current);
    setShown(undefined);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!shown) return undefined;
    // A finger leaves at once, and taps elsewhere to end it.
    const end = () => setShown(undefined);
    document.addEventListener('pointerdown', end);
    return () => document.removeEventListener('pointerdown', end);
  }, [shown]);
  const handlers = {
    onPointerEnter: ({ currentTarget }: PointerEvent<HTMLElement>) => {
      timer.current = setTimeout(() => show({ currentTarget }), POINTED_AT_MS);
    },
    onPointerLeave: stop,
    onClick: show,
    onFocus: show,
    onBlur: stop,
    onKeyDown: ({ key }: KeyboardEvent) => {
      if (key === 'Escape') stop();
    },
  };
  return { shown, handlers };
}
