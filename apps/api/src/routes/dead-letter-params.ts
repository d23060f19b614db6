import { deadLetterIdSchema } from '@webhooks/core/dead-letters/dead-letter';
import { z } from 'zod';

export const deadLetterParams = z.object({ id: deadLetterIdSchema });
