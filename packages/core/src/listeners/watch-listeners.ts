import type { Clock } from '../kernel/clock';
import type { Emit } from '../model/signal';
import type { ManageListeners } from './manage-listeners';
import type { ListenerStore } from './redis-listener-store';

export interface WatchListenersOptions {
  readonly listeners: Pick<ManageListeners, 'lookAfter'>;
  readonly listenerStore: Pick<ListenerStore, 'listDue'>;
  readonly clock: Clock;
  readonly emit: Emit;
}

const LOOK_EVERY_MS = 5_000;
const LOOKED_AFTER_AT_ONCE = 100;

/** Looks after listeners whose time has come: whose process has died, and who were gone for too long. */
export class WatchListeners {
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(private readonly options: WatchListenersOptions) {}

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking = this.runOnce();
    }, LOOK_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async runOnce(): Promise<void> {
    const { listeners, listenerStore, clock, emit } = this.options;
    try {
      const due = await listenerStore.listDue(clock(), LOOKED_AFTER_AT_ONCE);
      await Promise.all(due.map((address) => listeners.lookAfter(address)));
    } catch (error) {
      emit({ name: 'task.failed', task: 'look after listeners', error });
    }
  }
}
