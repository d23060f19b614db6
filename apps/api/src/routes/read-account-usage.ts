import type { AccountQuota } from '@hookferry/core/accounts/account-quota';
import { defineRoute } from '../http/route';
import { presentUsage, usageSchema } from './present-usage';

export function readAccountUsage(quota: Pick<AccountQuota, 'look'>) {
  return defineRoute({
    operationId: 'readAccountUsage',
    summary: 'Read how much the account stores, and how much it may',
    method: 'get',
    path: '/v1/account/usage',
    scope: 'any',
    request: {},
    responses: {
      200: { description: 'How much it stores.', schema: usageSchema },
    },
    async handle({ apiKey }) {
      return { status: 200, body: presentUsage(await quota.look(apiKey.accountId)) };
    },
  });
}
