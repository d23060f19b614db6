import { eventIdSchema } from '@webhooks/core/model/event';
import { z } from 'zod';

/** Where a page of a list in the order of events ended. */
export const eventCursorSchema = z.object({ createdAt: z.number(), eventId: eventIdSchema });
