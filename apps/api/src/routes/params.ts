import { deadLetterIdSchema } from '@hookferry/core/domain/dead-letter';
import { DELIVERY_ID_FORM } from '@hookferry/core/domain/delivery';
import { endpointIdSchema, endpointRefSchema } from '@hookferry/core/domain/endpoint';
import { eventIdSchema } from '@hookferry/core/domain/event';
import { replayIdSchema } from '@hookferry/core/domain/replay';
import { z } from 'zod';

export const webhookParams = z.object({ id: endpointRefSchema });

export const listenerParams = z.object({ id: endpointIdSchema });

export const eventParams = z.object({ id: eventIdSchema });

export const deliveryParams = z.object({ id: z.string().meta(DELIVERY_ID_FORM) });

export const deadLetterParams = z.object({ id: deadLetterIdSchema });

export const replayParams = z.object({ id: replayIdSchema });

/** The cursor at the end of a page of a list in the order of events. */
export const eventCursorSchema = z.object({ createdAt: z.number(), eventId: eventIdSchema });
