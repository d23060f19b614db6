import { z } from 'zod';
import { parseRange } from '../model/address-range';

const cidrSchema = z.string().refine((text) => parseRange(text) !== undefined, {
  error: ({ input }) =>
    `"${String(input)}" is not a range such as 10.1.0.0/16 or fd00::/8 (one address: 10.1.2.3/32, fd00::1/128)`,
});

/** Ranges of IP addresses in CIDR notation, separated by commas. */
export const cidrListSchema = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(cidrSchema));
