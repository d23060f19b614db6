import { SHARED_STACK, type SharedAddress } from './shared-stack';
import { Stack } from './stack';

let stack: Stack | undefined;

/** Starts the service that flows share, before the first of them. jest hands its environment on to its workers. */
export default async function startSharedStack(): Promise<void> {
  stack = await Stack.start({
    workers: 2,
    environment: { RETRY_SCHEDULE: '100ms,100ms' },
  });
  const address: SharedAddress = { baseUrl: stack.client.baseUrl, apiKey: stack.bootstrapKey };
  process.env[SHARED_STACK] = JSON.stringify(address);
}

export async function stopSharedStack(): Promise<void> {
  await stack?.stop();
}
