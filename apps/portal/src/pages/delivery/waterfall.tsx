import { Trans } from '@lingui/react/macro';
import type { Attempt } from '../../api/delivery-queries';
import { formatMs } from '../../language/formats';
import { phasesOf } from './phases';
import styles from './waterfall.module.css';

/** The duration of each phase of an attempt, in numbers and drawn. */
export function Waterfall({ attempt }: { readonly attempt: Attempt }) {
  const totalMs = Math.max(attempt.timings.total_ms, 1);
  const total = formatMs(attempt.timings.total_ms);
  const share = (ms: number) => `${Math.min((ms / totalMs) * 100, 100)}%`;
  return (
    <table className={styles['table']}>
      <caption className={styles['caption']}>
        <Trans>Time taken: {total} in all</Trans>
      </caption>
      <tbody>
        {phasesOf(attempt).map(({ name, ms, startMs }) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className={styles['number']}>{ms === undefined ? '–' : formatMs(ms)}</td>
            <td aria-hidden="true" className={styles['track']}>
              {ms !== undefined && (
                <div
                  className={styles['bar']}
                  // As short as it may be, it stays within the track.
                  style={{ marginInlineStart: `min(${share(startMs)}, 100% - 2px)`, width: share(ms) }}
                />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
