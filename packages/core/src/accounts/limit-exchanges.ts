import { AppError } from '../kernel/app-error';
import type { AuthFailures } from './auth-failures';
import type { ExchangeCode, OpenedSession } from './exchange-code';

export type ExchangeOfClient = (code: string, clientAddress: string | undefined) => Promise<OpenedSession>;

/**
 * Exchanges, but refuses whoever had no valid key or code too often of late before anything is looked up.
 *
 * @throws AppError `rate_limited`, and what `exchangeCode` throws.
 */
export function createLimitExchanges(exchangeCode: ExchangeCode, failures: AuthFailures): ExchangeOfClient {
  return async (code, clientAddress) => {
    failures.refuseBlocked(clientAddress);
    try {
      return await exchangeCode(code);
    } catch (error) {
      if (error instanceof AppError && error.code === 'unauthenticated') failures.note(clientAddress);
      throw error;
    }
  };
}
