/** How many slots a Redis Cluster shares out among its masters. */
export const HASH_SLOTS = 16_384;

const POLYNOMIAL = 0x1021;

/** The slot of all keys that have this hash tag: its CRC-16 (XMODEM), as the Redis Cluster specification says. */
export function slotOfTag(tag: string): number {
  return crc16(tag) % HASH_SLOTS;
}

/** @param before the CRC of what stands before the text. */
export function crc16(text: string, before = 0): number {
  let crc = before;
  for (const byte of Buffer.from(text)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ POLYNOMIAL) & 0xffff;
    }
  }
  return crc;
}
