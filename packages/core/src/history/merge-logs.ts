import { ERASED_LOG_START, eraseAnswers } from '../domain/delivery-fact';
import { isAttempt } from '../domain/delivery-line';
import { type LogStep, stepsOf } from '../domain/delivery-log';

/**
 * The log of a delivery of which two are known: the recorded one, and the one that goes on. Mostly the other one
 * has all lines of the first one. It has not when it began again, since a worker that had stopped recorded late.
 */
export function mergeLogs(onRecord: string, given: string): string {
  const inOrder = new Map(stepsOf(onRecord).map((step) => [nameOf(step), step.text]));
  for (const step of stepsOf(given)) inOrder.set(nameOf(step), step.text);
  const merged = [...inOrder.values()].map((text) => `${text}\n`).join('');
  const erasedAt = erasureOf(onRecord) ?? erasureOf(given);
  return erasedAt === undefined ? merged : eraseAnswers(merged, erasedAt);
}

// An attempt is the same, however its answer's headers are ordered, and whether its answer was erased.
function nameOf({ line, text }: LogStep): string {
  return isAttempt(line) ? `${line.n} ${line.t}` : text;
}

function erasureOf(log: string): number | undefined {
  return log.startsWith(ERASED_LOG_START)
    ? Number.parseInt(log.slice(ERASED_LOG_START.length), 10)
    : undefined;
}
