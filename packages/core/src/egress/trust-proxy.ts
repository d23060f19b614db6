import { z } from 'zod';
import { cidrListSchema } from './cidr-list';

const HOPS = /^[1-9]\d?$/;
const EVERYBODY = /\/0+$/;

/**
 * Whose word on a client's address is taken: `off` for nobody's (0 inside), the number of proxies before us, or
 * the ranges that they are in. A range of every address is refused: then any client could give itself any address.
 */
export const trustProxySchema = z.union(
  [
    z.literal('off').transform(() => 0),
    z.string().regex(HOPS).transform(Number),
    cidrListSchema.refine((ranges) => !ranges.some((range) => EVERYBODY.test(range))),
  ],
  'must be off, the number of proxies before the API (1 to 99), or their ranges such as 10.1.0.0/16, none of them /0',
);
