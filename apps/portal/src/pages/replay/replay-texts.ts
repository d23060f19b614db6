import type { ReplayWithResults } from '../../api/replay-queries';
import type { Tone } from '../../components/badge';
import { formatCount } from '../webhooks/health-figures';

type Results = NonNullable<ReplayWithResults['results']>;

/** How far it is, in a sentence. */
export function progressText({ status, dry_run: isDryRun, found, enqueued }: ReplayWithResults): string {
  if (status === 'counting') return `Counting: ${eventsText(found)} so far.`;
  if (isDryRun) return `It counted ${eventsText(found)}, and sent none.`;
  const sent = `${formatCount(enqueued)} of ${eventsText(found)} put onto the queue`;
  if (status === 'running') return `${sent} so far.`;
  if (status === 'cancelled')
    return enqueued === 0 ? 'Cancelled before it sent anything.' : `Cancelled: ${sent}.`;
  if (found === 0) return 'No event matched: nothing was sent.';
  return `${sent}.`;
}

/** How the deliveries went, in a sentence. */
export function resultsText(results: Results, enqueued: number): string {
  const { counted, delivered, failed, pending, cancelled } = results;
  const parts = [
    `${formatCount(delivered)} arrived`,
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(pending > 0 ? [`${formatCount(pending)} under way or held`] : []),
    ...(cancelled > 0 ? [`${formatCount(cancelled)} cancelled`] : []),
  ];
  const text = `${parts.join(', ')}.`;
  return counted < enqueued ? `Of the newest ${formatCount(counted)}: ${text}` : text;
}

export function toneOf({ status, results }: ReplayWithResults): Tone {
  if (status === 'failed' || (results && results.failed > 0)) return 'bad';
  if (status === 'cancelled') return 'neutral';
  if (status !== 'done' || (results && results.pending > 0)) return 'busy';
  return 'good';
}

function eventsText(count: number): string {
  return count === 1 ? '1 event' : `${formatCount(count)} events`;
}
