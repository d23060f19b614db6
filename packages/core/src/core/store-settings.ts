import type { z } from 'zod';
import { auditSettings } from '../accounts/audit/audit-settings';
import { eventTypeSettings } from '../accounts/event-types/redis-event-type-store';
import { disableSettings } from '../endpoints/disable';
import { historySettings, intakeSettings } from '../history/database/history-settings';
import { commonSettings, secretsSettings } from '../platform/settings';

/** The settings of every program that opens the core. */
export const storeSettings = {
  ...commonSettings,
  ...historySettings,
  ...intakeSettings,
  ...auditSettings,
  ...eventTypeSettings,
  ...disableSettings,
  // What changes webhooks opens their records.
  SECRETS_ENCRYPTION_KEY: secretsSettings.SECRETS_ENCRYPTION_KEY,
};

export type StoreSettings = z.infer<z.ZodObject<typeof storeSettings>>;
