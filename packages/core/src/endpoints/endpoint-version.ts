import { AppError } from '../kernel/app-error';
import type { Endpoint } from '../model/endpoint';

/** What tells one state of an endpoint's settings from every other. */
export function versionOf({ updatedAt }: Pick<Endpoint, 'updatedAt'>): string {
  return updatedAt.toString(36);
}

/** @throws AppError `precondition_failed` when the endpoint is not as whoever changes it has last seen it. */
export function requireVersion(endpoint: Endpoint, versions: readonly string[] | undefined): Endpoint {
  if (versions === undefined || versions.includes(versionOf(endpoint))) return endpoint;
  throw new AppError(
    'precondition_failed',
    'The webhook was changed since you read it. Read it again, and repeat your change with its new ETag.',
  );
}
