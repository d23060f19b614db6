import { z } from 'zod';

/** The few answers that show a webhook's secret have it so. */
export const secretViewSchema = z
  .object({ secret: z.string().meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }) })
  .meta({ id: 'Secret' });
