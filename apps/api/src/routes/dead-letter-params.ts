import { deadLetterIdSchema } from '@webhooks/core/model/dead-letter';
import { z } from 'zod';

export const deadLetterParams = z.object({ id: deadLetterIdSchema });
