import { z } from 'zod';

/** A signing secret of an endpoint. Times in milliseconds since the Unix epoch. */
export const endpointSecretSchema = z.object({
  secret: z.string(),
  createdAt: z.number(),
  /** From then on it signs no more. The newest has none. */
  expiresAt: z.number().optional(),
  /** Tells the rotation that made it from any other. */
  rotation: z.string().optional(),
});
export type EndpointSecret = Readonly<z.infer<typeof endpointSecretSchema>>;

interface WithSecrets {
  /** Newest first. */
  readonly secrets: readonly EndpointSecret[];
}

/** What signs at this time, newest first. */
export function liveSecrets({ secrets }: WithSecrets, now: number): readonly EndpointSecret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
}

export function newestSecret({ secrets: [newest] }: WithSecrets): EndpointSecret {
  if (!newest) throw new TypeError('An endpoint without a secret.');
  return newest;
}
