import { paintStatus } from '../output/colours';
import type { Column } from '../output/output';
import type { Replay, ReplayWithResults } from '../resources';

export const REPLAY_COLUMNS: readonly Column<Replay>[] = [
  ['id', ({ id }) => id],
  ['webhook', ({ webhook_id }) => webhook_id],
  ['status', ({ status }) => status, paintStatus],
  ['mode', ({ mode }) => mode],
  ['since', ({ since }) => since],
  ['until', ({ until }) => until],
  ['dry run', ({ dry_run }) => (dry_run ? 'yes' : 'no')],
  ['found', ({ found }) => found],
  ['enqueued', ({ enqueued }) => enqueued],
  ['erased', ({ erased }) => erased],
  ['error', ({ error }) => error],
];

export const RESULT_COLUMNS: readonly Column<ReplayWithResults>[] = [
  ...REPLAY_COLUMNS,
  ['counted', ({ results }) => results?.counted],
  ['delivered', ({ results }) => results?.delivered],
  ['pending', ({ results }) => results?.pending],
  ['failed', ({ results }) => results?.failed],
  ['cancelled', ({ results }) => results?.cancelled],
];
