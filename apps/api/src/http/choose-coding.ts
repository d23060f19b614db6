/** How what is stored several times over is encoded, the shortest first. */
export const codings = ['br', 'gzip', 'identity'] as const;
export type Coding = (typeof codings)[number];

/**
 * The content coding that a client likes best by its `Accept-Encoding` (RFC 9110, 12.5.3), the shortest of those that it
 * likes as much. Whoever takes none of them gets it as it is.
 */
export function chooseCoding(acceptEncoding: string | undefined, available: readonly Coding[]): Coding {
  const weights = weightsIn(acceptEncoding ?? '');
  const rest = weights.get('*');
  const weightOf = (coding: Coding) => weights.get(coding) ?? rest ?? (coding === 'identity' ? LEAST : 0);
  const liked = codings.filter((coding) => available.includes(coding) && weightOf(coding) > 0);
  const most = Math.max(...liked.map(weightOf));
  return liked.find((coding) => weightOf(coding) === most) ?? 'identity';
}

// What nobody has named is taken, but for want of anything better: weights have three decimals at most.
const LEAST = 0.0001;

function weightsIn(header: string): ReadonlyMap<string, number> {
  return new Map(
    header.split(',').map((part) => {
      const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
      const weight = parameters.find((text) => text.startsWith('q='))?.slice('q='.length);
      return [coding, weight === undefined ? 1 : Number(weight) || 0];
    }),
  );
}
