import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';
import { formatClock } from '../language/formats';
import { Button } from './button';
import styles from './drafts.module.css';

interface Kept {
  readonly value: unknown;
  readonly at: Date;
}

/**
 * Changes that somebody has typed and not saved, each under the place of its form. They are in memory alone, since they may
 * have secrets.
 */
type Drafts = Map<string, Kept>;

const DraftsContext = createContext<Drafts>(new Map());

/** Keeps the drafts of the pages inside, and asks before they are lost with the page. With another key, they are gone. */
export function DraftsProvider({ children }: { readonly children: ReactNode }) {
  const [drafts] = useState<Drafts>(() => new Map());
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (drafts.size > 0) event.preventDefault();
    };
    window.addEventListener('beforeunload', ask);
    return () => window.removeEventListener('beforeunload', ask);
  }, [drafts]);
  return <DraftsContext value={drafts}>{children}</DraftsContext>;
}

/** Whether a form shows what was typed on an earlier visit, and how that ends. */
export interface EarlierDraft {
  /** When the value was typed, if that was on an earlier visit. */
  readonly from: Date | undefined;
  /** Back to the state of the beginning. */
  readonly discard: () => void;
  /** For a value that was saved: nothing is kept of it. What is shown stays. */
  readonly forget: () => void;
}

/** A state of a form that is still there when its reader comes back to the form. */
export interface Draft<Value> extends EarlierDraft {
  readonly value: Value;
  readonly change: (value: Value) => void;
}

/**
 * @param place of the form, such as `webhooks/wh_1`: a draft of one is offered in no other.
 * @param initial what the form has without a draft.
 */
export function useDraft<Value>(place: string, initial: Value): Draft<Value> {
  const drafts = useContext(DraftsContext);
  // A place has one form, which has put it there.
  const [found] = useState(
    () => drafts.get(place) as { readonly value: Value; readonly at: Date } | undefined,
  );
  const [value, setValue] = useState(found ? found.value : initial);
  const [from, setFrom] = useState(found?.at);
  const forget = () => {
    drafts.delete(place);
    setFrom(undefined);
  };
  return {
    value,
    from,
    forget,
    change: (next) => {
      setValue(next);
      if (JSON.stringify(next) === JSON.stringify(initial)) forget();
      else drafts.set(place, { value: next, at: new Date() });
    },
    discard: () => {
      forget();
      setValue(initial);
    },
  };
}

/** Says that a form shows a draft of an earlier visit, and takes it away. */
export function DraftNotice({ draft: { from, discard } }: { readonly draft: EarlierDraft }) {
  if (from === undefined) return null;
  const time = formatClock(from);
  return (
    <p aria-live="polite" className={styles['notice']}>
      <span>
        <Trans>
          Your draft from <time dateTime={from.toISOString()}>{time}</time>, not saved yet.
        </Trans>
      </span>
      <Button size="small" onClick={discard}>
        {t`Discard`}
      </Button>
    </p>
  );
}
