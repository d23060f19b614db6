import type { EndpointId } from '../endpoints/endpoint';
import { decodeParked, type Parked } from '../gates/parked';
import { keys } from '../redis/keys';
import type { RedisClient } from '../redis/redis-connect';

/** All that wait at an endpoint's gate, the longest waiting first. */
export async function readParked(redis: RedisClient, endpointId: EndpointId): Promise<Parked[]> {
  return (await redis.zrange(keys.parked(endpointId), '0', '-1')).map(decodeParked);
}
