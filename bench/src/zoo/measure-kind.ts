import { setTimeout as wait } from 'node:timers/promises';
import type { KindOfReceiver, ReceiversProcess } from './receivers-process';
import type { SenderProcess } from './sender-process';

export interface KindResult {
  readonly kind: KindOfReceiver;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly durationMs: number;
  readonly residentBytes: { readonly before: number; readonly after: number };
  readonly openFiles: { readonly before: number; readonly after: number };
}

const DEADLINE_MS = 2_000;
const NO_DEADLINE_MS = 60_000;
const LOOK_EVERY_MS = 20;
// A bound, so that what stays open shows in the table.
const CLOSE_LIMIT_MS = 5_000;

/** Many requests at once to one receiver, and what the sender holds before and after. */
export async function measureKind(
  kind: KindOfReceiver,
  count: number,
  sender: SenderProcess,
  receivers: ReceiversProcess,
): Promise<KindResult> {
  const before = { residentBytes: sender.residentBytes(), openFiles: sender.openFiles() };
  const url = await receivers.open(kind.name);
  const { outcomes, durationMs } = await sender.send({
    url,
    count,
    timeoutMs: kind.endedBy === 'deadline' ? DEADLINE_MS : NO_DEADLINE_MS,
    requestBytes: kind.requestBytes,
  });
  await receivers.close(kind.name);
  await waitForOpenFiles(sender, before.openFiles);
  return {
    kind,
    outcomes,
    durationMs,
    residentBytes: { before: before.residentBytes, after: sender.residentBytes() },
    openFiles: { before: before.openFiles, after: sender.openFiles() },
  };
}

async function waitForOpenFiles(sender: SenderProcess, wished: number): Promise<void> {
  const limit = Date.now() + CLOSE_LIMIT_MS;
  while (sender.openFiles() > wished && Date.now() < limit) await wait(LOOK_EVERY_MS);
}
