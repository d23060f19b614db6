import { replayIdSchema } from '@webhooks/core/replays/replay';
import { z } from 'zod';

export const replayParams = z.object({ id: replayIdSchema });
