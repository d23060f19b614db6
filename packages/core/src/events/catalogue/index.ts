import type { z } from 'zod';
import { briefCreated } from './brief-created';
import { importCompleted } from './import-completed';
import { keywordQuickWin } from './keyword-quick-win';

/** Every event type there is. To add one, write its file beside this one and name it here. */
export const catalogue = [keywordQuickWin, briefCreated, importCompleted] as const;

type Catalogue = (typeof catalogue)[number];

export type KnownEventType = Catalogue['name'];

/** What a producer passes as `data` for a type. */
export type EventData<Name extends KnownEventType> = z.input<Extract<Catalogue, { name: Name }>['data']>;

export const eventTypeNames: readonly string[] = catalogue.map((eventType) => eventType.name);
