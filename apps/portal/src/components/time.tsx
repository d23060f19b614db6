import { Tooltip } from '@base-ui/react/tooltip';
import styles from './time.module.css';

const long = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
// As the long form has it: two clocks beside each other look alike.
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export interface TimeProps {
  /** RFC 3339 */
  readonly at: string;
  /** `short`, for lists, leaves out the year, and is no stop of the tab key. */
  readonly form?: 'long' | 'short';
}

/** In the viewer's zone; in UTC, as logs have it, when it is pointed at or has the focus. */
export function Time({ at, form = 'long' }: TimeProps) {
  const isLong = form === 'long';
  const time = <time dateTime={at}>{isLong ? long.format(new Date(at)) : <Short at={new Date(at)} />}</time>;
  return (
    <Tooltip.Root>
      {isLong ? (
        <Tooltip.Trigger className={styles['trigger']}>{time}</Tooltip.Trigger>
      ) : (
        <Tooltip.Trigger render={time} />
      )}
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={4} className={styles['positioner']}>
          <Tooltip.Popup className={styles['popup']}>{inUtc(at)}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

/** In two parts: narrow lists show one below the other. */
function Short({ at }: { readonly at: Date }) {
  return (
    <>
      <span>{`${day.format(at)}, `}</span>
      <span>{clock.format(at)}</span>
    </>
  );
}

const inUtc = (at: string) => `${at.replace('T', ' ').replace('Z', '')} UTC`;
