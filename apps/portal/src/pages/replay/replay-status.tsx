import { t } from '@lingui/core/macro';
import type { Replay } from '../../api/replay-queries';
import { Badge, type Tone } from '../../components/badge';

const STATUSES: Readonly<Record<Replay['status'], readonly [Tone, string]>> = {
  counting: ['busy', t`Counting`],
  running: ['busy', t`Running`],
  done: ['good', t({ message: 'Done', context: 'replay' })],
  cancelled: ['neutral', t({ message: 'Cancelled', context: 'replay' })],
  failed: ['bad', t({ message: 'Failed', context: 'replay' })],
};

export function ReplayStatus({ replay: { status } }: { readonly replay: Replay }) {
  const [tone, text] = STATUSES[status];
  return <Badge tone={tone}>{text}</Badge>;
}
