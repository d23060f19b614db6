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
  async handle(_request, { whyUnready }) {
    const unready = await whyUnready();
    if (unready) {
      const code = unready.reason === 'clock_skewed' ? 'clock_skewed' : 'storage_unavailable';
      throw new AppError(code, 'The service accepts no events now.');
    }
    return { status: 200, body: { status: 'ok' } };
  },
});
