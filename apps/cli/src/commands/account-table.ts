import { presentAccount } from '@webhooks/core/manage/present-account';
import type { Account } from '@webhooks/core/model/account';
import { formatTable } from '../format';

export function accountTable(accounts: readonly Account[]): string {
  const rows = accounts
    .map(presentAccount)
    .map(({ id, name = '', status, created_at }) => [id, name, status, created_at]);
  return formatTable(['ID', 'NAME', 'STATUS', 'CREATED'], rows);
}
