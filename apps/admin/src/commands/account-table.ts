import { presentAccount } from '@hookferry/core/manage/present-account';
import type { Account } from '@hookferry/core/model/account';
import { formatTable } from '../format';

export function accountTable(accounts: readonly Account[]): string {
  const rows = accounts
    .map(presentAccount)
    .map(({ id, name = '', status, created_at }) => [id, name, status, created_at]);
  return formatTable(['ID', 'NAME', 'STATUS', 'CREATED'], rows);
}
