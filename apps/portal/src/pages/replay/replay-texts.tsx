import { plural, t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Link } from 'wouter';
import type { ReplayResult, ReplayWithResults } from '../../api/replay-queries';
import type { Tone } from '../../components/badge';
import { formatCount } from '../../language/formats';
import { locale } from '../../language/language';

type Results = NonNullable<ReplayWithResults['results']>;

/** How far it is, in a sentence. */
export function progressText({
  status,
  dry_run: isDryRun,
  mode,
  found,
  enqueued,
}: ReplayWithResults): string {
  const events = plural(found, { one: '# event', other: '# events' });
  const sent = formatCount(enqueued);
  if (status === 'counting') return t`Counting: ${events} so far.`;
  if (isDryRun) return t`It counted ${events}, and sent none.`;
  if (status === 'running') return t`${sent} of ${events} put onto the queue so far.`;
  if (status === 'cancelled')
    return enqueued === 0
      ? t`Cancelled before it sent anything.`
      : t`Cancelled: ${sent} of ${events} put onto the queue.`;
  if (found === 0 && mode === 'failed')
    return t`No delivery was given up or cancelled in this time: nothing was sent. Those that wait for a retry are another choice.`;
  if (found === 0) return t`No event matched: nothing was sent.`;
  return t`${sent} of ${events} put onto the queue.`;
}

const lists = new Intl.ListFormat(locale, { type: 'unit' });

interface ReplayResultsProps {
  readonly replay: Pick<ReplayWithResults, 'id' | 'enqueued'>;
  readonly results: Results;
}

/** How the deliveries went, in a sentence; each count leads to those. */
export function ReplayResults({ replay: { id, enqueued }, results }: ReplayResultsProps) {
  const { counted, delivered, failed, pending, cancelled } = results;
  const all: readonly (readonly [ReplayResult, text: string])[] = [
    ['delivered', plural(delivered, { one: '# arrived', other: '# arrived' })],
    ['failed', plural(failed, { one: '# failed', other: '# failed' })],
    ['pending', plural(pending, { one: '# under way or held', other: '# under way or held' })],
    ['cancelled', plural(cancelled, { one: '# cancelled', other: '# cancelled' })],
  ];
  const shown = all.filter(([result]) => result === 'delivered' || results[result] > 0);
  const parts = lists.formatToParts(shown.map(([, text]) => text));
  const list = parts.map(({ value }, i) => {
    const [result] = shown.find(([, text]) => text === value) ?? [];
    if (result === undefined || results[result] === 0) return value;
    return (
      <Link key={i} href={`/replays/${id}?result=${result}`}>
        {value}
      </Link>
    );
  });
  const newest = formatCount(counted);
  return counted < enqueued ? (
    <Trans>
      Of the newest {newest}: {list}.
    </Trans>
  ) : (
    <Trans>{list}.</Trans>
  );
}

export function toneOf({ status, results }: ReplayWithResults): Tone {
  if (status === 'failed' || (results && results.failed > 0)) return 'bad';
  if (status === 'cancelled') return 'neutral';
  if (status !== 'done' || (results && results.pending > 0)) return 'busy';
  return 'good';
}
