import { Button } from './button';
import styles from './read-on.module.css';

export interface ReadOnProps {
  readonly isBusy: boolean;
  readonly onReadOn: () => void;
}

/** A page of a filtered list may be short, or have nothing, although there is more: the viewer can load more. */
export function ReadOn({ isBusy, onReadOn }: ReadOnProps) {
  return (
    <p className={styles['more']}>
      <Button isBusy={isBusy} onClick={onReadOn}>
        {isBusy ? 'Searching further back…' : 'Search further back'}
      </Button>
    </p>
  );
}
