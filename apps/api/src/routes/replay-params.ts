import { replayIdSchema } from '@webhooks/core/model/replay';
import { z } from 'zod';

export const replayParams = z.object({ id: replayIdSchema });
