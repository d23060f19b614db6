import { z } from 'zod';
import type { AuditBounds } from '../../domain/audit';
import { positiveDurationSchema } from '../../platform/duration';

/** The settings of every program that writes or moves the audit log. */
export const auditSettings = {
  AUDIT_RETENTION: positiveDurationSchema
    .prefault('365d')
    .describe('how long the [audit log](audit-log.md) is kept: in PostgreSQL with a history, else in Redis'),
  AUDIT_COUNT: z.coerce
    .number()
    .int()
    .min(100)
    .max(1_000_000)
    .default(10_000)
    .describe("how many entries an account's audit log has in Redis, where there is no history"),
};

interface AuditConfig {
  readonly AUDIT_RETENTION: number;
  readonly AUDIT_COUNT: number;
  readonly HISTORY_DATABASE_URL?: string | undefined;
}

/** With a history there is no limit of the number: entries move there. */
export function auditBoundsOf({
  AUDIT_RETENTION,
  AUDIT_COUNT,
  HISTORY_DATABASE_URL,
}: AuditConfig): AuditBounds {
  const count = HISTORY_DATABASE_URL === undefined ? AUDIT_COUNT : Number.POSITIVE_INFINITY;
  return { count, ageMs: AUDIT_RETENTION };
}
