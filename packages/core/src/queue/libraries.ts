import { appendLine, hasLineAt } from '../events/redis-log-lines.script';
import type { Library } from '../platform/redis-lua';
import { timeNow } from '../platform/redis-time.script';
import { putBack, putInPlace, wakeWorkers } from './bullmq-put-back.script';
import { fairOrder } from './fair-order.script';

const textOf = (...libraries: Library[]) => libraries.map(({ body }) => body).join('\n');
export const FAIR_ORDER = textOf(fairOrder);
export const PUT_BACK = textOf(timeNow, putInPlace, putBack, wakeWorkers);
export const LOG_LINES = textOf(appendLine, hasLineAt);
