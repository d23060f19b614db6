import { AppError, type Fault } from './app-error';

/** A request that is well formed and can't be granted for what it says. */
export function invalidRequest(faults: readonly Fault[], cause?: unknown): AppError {
  return new AppError('invalid_request', 'The request is not valid: see "errors".', { faults, cause });
}
