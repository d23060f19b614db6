import type { Replay } from '../../api/replay-queries';
import { Badge, type Tone } from '../../components/badge';

const STATUSES: Readonly<Record<Replay['status'], readonly [Tone, string]>> = {
  counting: ['busy', 'Counting'],
  running: ['busy', 'Running'],
  done: ['good', 'Done'],
  cancelled: ['neutral', 'Cancelled'],
  failed: ['bad', 'Failed'],
};

export function ReplayStatus({ replay: { status } }: { readonly replay: Replay }) {
  const [tone, text] = STATUSES[status];
  return <Badge tone={tone}>{text}</Badge>;
}
