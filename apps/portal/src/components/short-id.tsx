import { t } from '@lingui/core/macro';
import { CopyButton } from './copy-button';
import styles from './short-id.module.css';

// Of the random end of an id: enough to tell those of a list apart.
const END_OF_ID = 6;

/** An id where there is a name for it too: its kind and its end. The button, shown in the row that one is at, copies all of it. */
export function ShortId({ id }: { readonly id: string }) {
  return (
    <span className={styles['id']}>
      <code>{shortId(id)}</code>
      <span className={styles['copy']}>
        <CopyButton text={id} label={t`Copy ${id}`} />
      </span>
    </span>
  );
}

/** All of an id, and a button that copies it. */
export function WholeId({ id, label = t`Copy ${id}` }: { readonly id: string; readonly label?: string }) {
  return (
    <>
      <code>{id}</code> <CopyButton text={id} label={label} />
    </>
  );
}

/** `evt_…k2x9q4`. One that somebody has chosen has no such form, and stays as it is. */
export function shortId(id: string): string {
  const [, kind] = /^([a-z]+_)[0-9a-z]{16,}$/.exec(id) ?? [];
  return kind === undefined ? id : `${kind}…${id.slice(-END_OF_ID)}`;
}
