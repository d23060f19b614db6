import { plural, t } from '@lingui/core/macro';
import type { ReplayWithResults } from '../../api/replay-queries';
import type { Tone } from '../../components/badge';
import { formatCount } from '../../language/formats';
import { locale } from '../../language/language';

type Results = NonNullable<ReplayWithResults['results']>;

/** How far it is, in a sentence. */
export function progressText({ status, dry_run: isDryRun, found, enqueued }: ReplayWithResults): string {
  const events = plural(found, { one: '# event', other: '# events' });
  const sent = formatCount(enqueued);
  if (status === 'counting') return t`Counting: ${events} so far.`;
  if (isDryRun) return t`It counted ${events}, and sent none.`;
  if (status === 'running') return t`${sent} of ${events} put onto the queue so far.`;
  if (status === 'cancelled')
    return enqueued === 0
      ? t`Cancelled before it sent anything.`
      : t`Cancelled: ${sent} of ${events} put onto the queue.`;
  if (found === 0) return t`No event matched: nothing was sent.`;
  return t`${sent} of ${events} put onto the queue.`;
}

const lists = new Intl.ListFormat(locale, { type: 'unit' });

/** How the deliveries went, in a sentence. */
export function resultsText(results: Results, enqueued: number): string {
  const { counted, delivered, failed, pending, cancelled } = results;
  const parts = [
    plural(delivered, { one: '# arrived', other: '# arrived' }),
    ...(failed > 0 ? [plural(failed, { one: '# failed', other: '# failed' })] : []),
    ...(pending > 0 ? [plural(pending, { one: '# under way or held', other: '# under way or held' })] : []),
    ...(cancelled > 0 ? [plural(cancelled, { one: '# cancelled', other: '# cancelled' })] : []),
  ];
  const [list, newest] = [lists.format(parts), formatCount(counted)];
  return counted < enqueued ? t`Of the newest ${newest}: ${list}.` : t`${list}.`;
}

export function toneOf({ status, results }: ReplayWithResults): Tone {
  if (status === 'failed' || (results && results.failed > 0)) return 'bad';
  if (status === 'cancelled') return 'neutral';
  if (status !== 'done' || (results && results.pending > 0)) return 'busy';
  return 'good';
}
