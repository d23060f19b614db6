/** The keys that keep an order, full requests and what is held: they are gone with the last delivery that they are for. */
export const OF_LANES =
  /^(lane|carried|grouped|lines|batches|behind-heads|held|held-counts|counted-as-held|order|turn|ready|coalescing):|(lane|batch)\//;
