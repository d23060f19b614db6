import { Pool } from 'pg';

// A relay listens on one and publishes on another; the metrics need a third now and then.
const CONNECTIONS = 4;

/** Of the program. It connects again by itself; what is under way fails, and is tried again. */
export function openPool(connectionString: string): Pool {
  const pool = new Pool({ connectionString, max: CONNECTIONS });
  // Without a listener it would end the process.
  pool.on('error', () => {});
  return pool;
}
