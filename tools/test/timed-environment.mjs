// @ts-check
import { createRequire } from 'node:module';

// Its types are of the CommonJS module.
const { TestEnvironment } = /** @type {typeof import('jest-environment-node')} */ (
  createRequire(import.meta.url)('jest-environment-node')
);

/** Tells a test, and each hook, when its time is over: a wait in vain ends before, and says where it was (`inTime`). */
export default class TimedEnvironment extends TestEnvironment {
  /** @type {import('@jest/environment').JestEnvironment['handleTestEvent']} */
  handleTestEvent = (event, { testTimeout }) => {
    if (event.name === 'test_fn_start') this.#tell(event.test.timeout ?? testTimeout);
    if (event.name === 'hook_start') this.#tell(event.hook.timeout ?? testTimeout);
  };

  /** @param {number} limitMs */
  #tell(limitMs) {
    Object.assign(this.global, { timeIsOverAt: performance.now() + limitMs });
  }
}
