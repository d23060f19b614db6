import { eventIdSchema } from '@webhooks/core/model/event';
import { z } from 'zod';

export const eventParams = z.object({ id: eventIdSchema });
