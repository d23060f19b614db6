import { DAY_MS } from '@hookferry/core/domain/history-retention';
import { HistoryWriter } from '@hookferry/core/history/database/pg-history-writer';
import {
  type OpenMovedHistoryContext,
  openMovedHistory,
} from '@hookferry/core/history/mover/open-moved-history';
import type { WorkerConfig } from './config';

/** What the worker has besides, if there is a history. */
export type HistoryParts = NonNullable<ReturnType<typeof openHistory>>;

// Two movers, which write at the same time; one that makes days, drops them, or erases.
const WRITERS = 3;
// For replays.
const READERS = 3;

interface OpenHistoryContext extends OpenMovedHistoryContext {
  readonly config: WorkerConfig;
}

/** Open the history, if there is one. It connects when it is asked first. */
export function openHistory(context: OpenHistoryContext) {
  const parts = openMovedHistory(context, {
    applicationName: 'hookferry-worker',
    readers: READERS,
    writers: WRITERS,
  });
  if (!parts) return undefined;
  const { config, clock } = context;
  return {
    ...parts,
    historyWriter: new HistoryWriter(parts.historyDatabase, clock),
    moveAfterMs: config.HISTORY_MOVE_AFTER,
    keepDays: config.HISTORY_RETENTION / DAY_MS,
  };
}
