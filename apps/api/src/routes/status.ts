import { AppError } from '@hookferry/core/platform/app-error';
import { z } from 'zod';
import { defineRoute } from '../http/route';

const statusSchema = z
  .object({ status: z.literal('ok').describe('`ok`: events are accepted.') })
  .meta({ id: 'ServiceStatus' });

/** For monitors and people outside, where `/readyz` is not let through. Requests of the same moment share one look at Redis. */
export const readStatus = defineRoute({
  operationId: 'readStatus',
  summary: 'Ask whether the service accepts events',
  method: 'get',
  path: '/v1/status',
  scope: 'none',
  isPublic: true,
  isProbe: true,
  request: {},
  responses: { 200: { description: 'The service accepts events.', schema: statusSchema } },
  problems: ['storage_unavailable', 'clock_skewed'],
  // Anybody may ask: the reason is for operators, at `/readyz`.
  async handle(_request, { redisProbe, redisClock }) {
    const { kind } = await redisProbe.look();
    if (kind !== 'takes_writes')
      throw new AppError('storage_unavailable', 'The service accepts no events now.');
    if (!redisClock.isTrusted) throw new AppError('clock_skewed', 'The service accepts no events now.');
    return { status: 200, body: { status: 'ok' } };
  },
});
