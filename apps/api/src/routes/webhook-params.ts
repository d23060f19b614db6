import { endpointRefSchema } from '@webhooks/core/endpoints/endpoint';
import { z } from 'zod';

export const webhookParams = z.object({ id: endpointRefSchema });
