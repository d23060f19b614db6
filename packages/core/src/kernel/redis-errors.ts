import { ReplyError } from 'ioredis';
import { AppError } from './app-error';

// What Redis answers when it is there but can't serve: loading, out of memory, a replica that was told to
// write, a cluster without a majority, too few replicas. All other replies (WRONGTYPE, ERR …) are our bugs.
const UNAVAILABLE_REPLIES =
  /^(LOADING|OOM|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|BUSY)\b/;

type AsyncMethods<Store> = { [Name in keyof Store]: (...args: never[]) => Promise<unknown> };

/** Gives the same store, whose methods throw `storage_unavailable` when Redis can't be reached or can't serve. */
export function withStorageErrors<Store extends AsyncMethods<Store>>(store: Store): Store {
  const wrapped = Object.entries<(...args: never[]) => Promise<unknown>>(store).map(([name, method]) => [
    name,
    (...args: never[]) => method(...args).catch(rethrow),
  ]);
  return Object.fromEntries(wrapped) as Store;
}

export function storageUnavailable(cause: unknown): AppError {
  return new AppError('storage_unavailable', 'The store is not reachable at the moment; try again shortly.', {
    cause,
  });
}

function rethrow(error: unknown): never {
  if (error instanceof AppError) throw error;
  throw isUnavailable(error) ? storageUnavailable(error) : error;
}

// Within a store only ioredis throws plain errors: closed or silent connections have no class of their own.
function isUnavailable(error: unknown): boolean {
  if (error instanceof ReplyError) return UNAVAILABLE_REPLIES.test((error as Error).message);
  return (
    error instanceof Error &&
    !(error instanceof TypeError || error instanceof SyntaxError) &&
    error.name !== 'ZodError'
  );
}
