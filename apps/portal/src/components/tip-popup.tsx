import { Tooltip } from '@base-ui/react/tooltip';
import type { ReactNode, RefObject } from 'react';
import styles from './tip.module.css';

export interface TipPopupProps {
  readonly anchor: RefObject<HTMLElement | null>;
  /** Default: the page. */
  readonly container: HTMLElement | null;
  readonly children: ReactNode;
}

/** What something tells when it is pointed at: beside it, wherever there is room. */
export function TipPopup({ anchor, container, children }: TipPopupProps) {
  return (
    <Tooltip.Root open>
      <Tooltip.Portal {...(container && { container })}>
        <Tooltip.Positioner anchor={anchor} sideOffset={4} className={styles['positioner']}>
          <Tooltip.Popup className={styles['popup']}>{children}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
