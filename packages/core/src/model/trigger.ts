import { z } from 'zod';

/** What brought an attempt about: the schedule, or who asked for it. */
export const triggers = ['schedule', 'manual', 'replay', 'test'] as const;

export const triggerSchema = z.enum(triggers);
export type Trigger = z.infer<typeof triggerSchema>;

/** What somebody can ask for. */
export type RequestTrigger = Exclude<Trigger, 'schedule'>;
