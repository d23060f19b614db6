import type { Account } from '@hookferry/core/domain/account';
import { presentAccount } from '@hookferry/core/operations/manage-accounts';
import { formatTable } from '../format';

export function accountTable(accounts: readonly Account[]): string {
  const rows = accounts
    .map(presentAccount)
    .map(({ id, name = '', status, created_at }) => [id, name, status, created_at]);
  return formatTable(['ID', 'NAME', 'STATUS', 'CREATED'], rows);
}
