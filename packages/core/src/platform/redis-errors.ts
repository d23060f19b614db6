import { ReplyError } from 'ioredis';
import { AppError } from './app-error';

// How Redis' replies begin when it is there but can't serve, whatever was asked. All other replies (WRONGTYPE, ERR …) are
// bugs of this product.
// LATE is the word of the scripts themselves. Redis 6.2 says before a refusal in which script, and where there, that was.
const REFUSING_REPLIES =
  /^(?:ERR Error running script \(call to f_\w+\): (?:@user_script: ?\d+: )+-)?(LATE|LOADING|OOM|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|BUSY|UNKILLABLE|NOAUTH|WRONGPASS|DENIED|ERR max number of clients(?: \+ cluster connections)? reached)\b/;

// What Redis replies to EXEC if it has refused one of the commands before. ioredis adds the refusals.
const ABORTED = /^EXECABORT\b/;

/**
 * How the errors begin with which ioredis rejects commands that no server has answered. They have no class or code of
 * their own.
 */
export const LOST_CONNECTION_ERRORS: readonly string[] = [
  'Connection is closed.',
  'Command timed out',
  'Command aborted due to connection close',
  'Reached the max retries per request limit',
  "Stream isn't writeable and enableOfflineQueue options is false",
  'Socket timeout. Expecting data',
  'connect ETIMEDOUT',
  'Unknown RESP type',
  'All sentinels are unreachable',
  'Failed to refresh slots cache.',
  'None of startup nodes is available',
  "Cluster isn't ready and enableOfflineQueue options is false",
  'Cluster is disconnect',
  'Cluster is ended.',
  'Node is disconnected',
  'Too many Cluster redirections',
];

/**
 * Whether an error says that Redis can't be reached or can't serve now, whatever was asked. An error that is not listed here
 * counts as a bug of this product: trying again would not help.
 */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'storage_unavailable';
  if (!(error instanceof Error)) return false;
  const { message } = error;
  if (error instanceof ReplyError) {
    return (
      REFUSING_REPLIES.test(message) || (ABORTED.test(message) && refusalsBehind(error).some(isUnavailable))
    );
  }
  return LOST_CONNECTION_ERRORS.some((beginning) => message.startsWith(beginning));
}

/** Whether Redis is there, and said itself that it can't serve: it takes no writes, or does not know the user. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ReplyError && isUnavailable(error);
}

function refusalsBehind(error: Error): readonly unknown[] {
  return 'previousErrors' in error && Array.isArray(error.previousErrors) ? error.previousErrors : [];
}

/** An error as clients and operators get to know it: one of Redis has its code. */
export function nameRedisError(error: unknown): unknown {
  return isUnavailable(error) && !(error instanceof AppError) ? storageUnavailable(error) : error;
}

export function storageUnavailable(cause: unknown): AppError {
  return new AppError(
    'storage_unavailable',
    "Redis can't be reached, or takes no writes. Your request may have been carried out. Wait a moment, then send it again.",
    { cause },
  );
}
