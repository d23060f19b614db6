import type { Clock } from '../kernel/clock';
import type { SignalListener } from '../model/signal';

/** Often enough to see in a log that Redis is still away. */
const REMINDER_MS = 60_000;

/**
 * Passes signals on, but an error of a connection to Redis, a library's warning, or that jobs are left to a later version, only
 * if it has not done so within the last minute. Each connection tries again every second: a worker without Redis would write
 * a dozen lines a second, all the same.
 */
export function withoutRepeats(listen: SignalListener, clock: Clock): SignalListener {
  const passedOnAt = new Map<string, number>();
  return (signal) => {
    if (signal.name === 'redis.error' && isRepeat(`${signal.connection}: ${String(signal.error)}`)) return;
    if (signal.name === 'library.warned' && isRepeat(signal.text)) return;
    if (signal.name === 'job.too_new' && isRepeat(`${signal.queue}: ${signal.version}`)) return;
    listen(signal);
  };

  function isRepeat(text: string): boolean {
    const now = clock();
    for (const [other, at] of passedOnAt) if (now - at >= REMINDER_MS) passedOnAt.delete(other);
    if (passedOnAt.has(text)) return true;
    passedOnAt.set(text, now);
    return false;
  }
}
