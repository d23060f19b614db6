import { AppError } from '../kernel/app-error';
import { DEFAULT_ACCOUNT } from '../model/account';
import type { Principal } from '../model/principal';

/**
 * Whoever may administer any other account is master of that account alone.
 *
 * @throws AppError `operator_only`.
 */
export function requireOperator({ accountId, scopes }: Principal): void {
  if (accountId === DEFAULT_ACCOUNT && scopes.includes('admin')) return;
  throw new AppError(
    'operator_only',
    `Only a key of the account "${DEFAULT_ACCOUNT}" with the scope "admin" may do this.`,
  );
}
