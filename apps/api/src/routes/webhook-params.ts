import { endpointRefSchema } from '@webhooks/core/model/endpoint';
import { z } from 'zod';

export const webhookParams = z.object({ id: endpointRefSchema });
