import type { Queue } from 'bullmq';
import { DEAD_LETTERS_QUEUE, workedQueues } from '../model/queue-names';
import { openQueue, type QueueConnection } from './bullmq-open-queue';

export type InspectedQueues = readonly Queue[];

/** All queues, for operators to look into. To be closed. */
export function openInspectedQueues(connection: QueueConnection): InspectedQueues {
  return [...workedQueues, DEAD_LETTERS_QUEUE].map((name) => openQueue(name, connection));
}
