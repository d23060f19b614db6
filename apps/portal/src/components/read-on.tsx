import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button } from './button';
import styles from './read-on.module.css';
import { Time } from './time';

export interface ReadOnProps {
  readonly isBusy: boolean;
  readonly onReadOn: () => void;
  /** How far back was looked: RFC 3339. Absent: the list is not in the order of time. */
  readonly searchedTo?: string | null | undefined;
}

/** A page of a filtered list may be short, or have nothing, although there is more: the viewer can load more. */
export function ReadOn({ isBusy, onReadOn, searchedTo }: ReadOnProps) {
  return (
    <p className={styles['more']}>
      {searchedTo && (
        <>
          <Trans>
            Searched back to <Time at={searchedTo} />
          </Trans>{' '}
        </>
      )}
      <Button isBusy={isBusy} onClick={onReadOn}>
        {isBusy ? t`Searching older ones…` : t`Search older ones`}
      </Button>
    </p>
  );
}
