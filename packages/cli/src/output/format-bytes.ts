const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** A number of bytes for people: `1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), UNITS.length - 1);
  const count = bytes / 1024 ** step;
  return `${Number.isInteger(count) ? count : count.toFixed(1)} ${UNITS[step]}`;
}
