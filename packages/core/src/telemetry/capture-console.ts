import type { SignalListener } from '../model/signal';

/**
 * What libraries write to the console goes to the log, as a line like all others: BullMQ warns of a Redis that evicts, once
 * for each of its connections. @returns what puts the console back as it was.
 */
export function captureConsole(listen: SignalListener): () => void {
  const { warn, error } = console;
  const tell = (...parts: unknown[]) => listen({ name: 'library.warned', text: parts.map(String).join(' ') });
  Object.assign(console, { warn: tell, error: tell });
  return () => void Object.assign(console, { warn, error });
}
