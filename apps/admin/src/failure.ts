import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';

/** Something could not be done; the message says why, and what to do about it. */
export class Failure extends Error {
  override readonly name = 'Failure';
}

/** Waits for `action`; when it is refused with this code, says what to do instead. */
export async function withAdvice<T>(code: ErrorCode, advice: string, action: Promise<T>): Promise<T> {
  try {
    return await action;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== code) throw error;
    throw new Failure(`${error.message} ${advice}`, { cause: error });
  }
}
