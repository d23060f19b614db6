import { Receiver, type Reply } from '../../support/receiver';

/** A receiver that fails and recovers when the test says so. */
export interface SwitchedReceiver {
  readonly receiver: Receiver;
  /** From now on it responds like this. */
  respondWith(reply: Reply): void;
}

export async function startSwitchedReceiver(first: Reply = 204): Promise<SwitchedReceiver> {
  let reply = first;
  const receiver = await Receiver.start(() => reply);
  return {
    receiver,
    respondWith: (next) => {
      reply = next;
    },
  };
}
