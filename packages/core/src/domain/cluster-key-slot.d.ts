// The package has no types.
declare module 'cluster-key-slot' {
  /** The slot of a key in a Redis Cluster. */
  export default function slotOf(key: string): number;
}
