/** One thing that grows, and what it is compared with: the first of its variants. */
export interface ScaleScene {
  readonly name: string;
  readonly title: string;
  /** Masters of a Cluster; without, it is one Redis. */
  readonly masters?: number;
  readonly variants: readonly Variant[];
}

export interface Variant {
  readonly label: string;
  readonly workers: number;
  readonly shards: number;
  readonly deliveries: number;
  readonly endpoints: number;
  readonly measured?: number;
  readonly isSkewed?: boolean;
}

const usual = { workers: 1, shards: 1, endpoints: 300 };

/** @param deliveries that wait at the beginning; the scene of what is pending has fifty times as many at most. */
export function scaleScenes(deliveries: number): readonly ScaleScene[] {
  const measured = deliveries;
  return [
    {
      name: 'workers',
      title: 'workers, one Redis',
      // As many for each: a process needs some thousands before it is as fast as it gets.
      variants: [1, 2, 4].map((workers) => ({
        ...usual,
        label: `${workers}`,
        workers,
        deliveries: deliveries * workers,
      })),
    },
    {
      name: 'shards',
      title: 'shards, a Cluster of three masters, two workers, 3,000 webhooks',
      masters: 3,
      variants: [1, 3, 6].map((shards) => ({
        ...usual,
        label: `${shards}`,
        workers: 2,
        shards,
        deliveries,
        endpoints: 3_000,
      })),
    },
    {
      name: 'pending',
      title: 'deliveries pending',
      variants: [1, 50].map((factor) => ({
        ...usual,
        label: `${deliveries * factor}`,
        deliveries: deliveries * factor,
        measured,
      })),
    },
    {
      name: 'endpoints',
      title: 'webhooks, with skewed traffic',
      variants: [10, 5 * deliveries].map((endpoints) => ({
        ...usual,
        label: `${endpoints}`,
        deliveries,
        endpoints,
        isSkewed: true,
      })),
    },
  ];
}
