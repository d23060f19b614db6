import { eventIdSchema } from '@webhooks/core/events/event';
import { z } from 'zod';

export const eventParams = z.object({ id: eventIdSchema });
