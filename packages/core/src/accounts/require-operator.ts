import { AppError } from '../kernel/app-error';
import { DEFAULT_ACCOUNT } from '../model/account';
import type { ApiKey } from '../model/api-key';

/**
 * Whoever has an admin key of any other account is master of that account alone.
 *
 * @throws AppError `operator_only`.
 */
export function requireOperator({ accountId, scopes }: ApiKey): void {
  if (accountId === DEFAULT_ACCOUNT && scopes.includes('admin')) return;
  throw new AppError(
    'operator_only',
    `Only a key of the account "${DEFAULT_ACCOUNT}" with the scope "admin" may do this.`,
  );
}
