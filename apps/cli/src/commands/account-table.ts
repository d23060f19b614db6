import type { Account } from '@webhooks/core/accounts/account';
import { presentAccount } from '@webhooks/core/accounts/present-account';
import { formatTable } from '../format-table';

export function accountTable(accounts: readonly Account[]): string {
  const rows = accounts
    .map(presentAccount)
    .map(({ id, name = '', status, created_at }) => [id, name, status, created_at]);
  return formatTable(['ID', 'NAME', 'STATUS', 'CREATED'], rows);
}
