import { t } from '@lingui/core/macro';
import { type ReactNode, useState } from 'react';
import { Button } from './button';
import styles from './filters.module.css';
import { useIsNarrow } from './use-is-narrow';

interface FiltersProps {
  /** How many are set. */
  readonly count: number;
  readonly children: ReactNode;
}

/** The filters of a list. On phones they are folded until somebody asks for them: the list is what one came for. */
export function Filters({ count, children }: FiltersProps) {
  const isNarrow = useIsNarrow();
  const [isOpen, setIsOpen] = useState(false);
  if (!isNarrow) return children;
  return (
    <div className={styles['fold']}>
      <Button aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        {count > 0 ? t`Filters (${count})` : t`Filters`}
      </Button>
      {isOpen && children}
    </div>
  );
}
