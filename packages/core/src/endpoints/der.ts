/** A value in DER (X.690): its tag, and the bytes of its content. */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
}

export const DER_INTEGER = 0x02;
export const DER_OCTET_STRING = 0x04;
export const DER_OBJECT_ID = 0x06;
export const DER_SEQUENCE = 0x30;
/** `[0]`, as it stands before what may be left out. */
export const DER_CONTEXT_0 = 0xa0;

// Of a length that is longer than a byte: how many bytes it has.
const LONG_FORM = 0x80;
// 64 KiB and less; a key that is taken in is shorter.
const MAX_LENGTH_BYTES = 2;

/** The values that stand in these bytes one after the other; `undefined` when they are no such. */
export function readDer(bytes: Buffer): readonly DerValue[] | undefined {
  const values: DerValue[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const head = readHead(rest);
    if (!head || rest.length < head.contentAt + head.length) return undefined;
    const end = head.contentAt + head.length;
    values.push({ tag: head.tag, content: rest.subarray(head.contentAt, end) });
    rest = rest.subarray(end);
  }
  return values;
}

/** What a sequence has in it, when it is one and nothing else is there. */
export function readSequence(bytes: Buffer): readonly DerValue[] | undefined {
  const [sequence, ...others] = readDer(bytes) ?? [];
  return sequence?.tag === DER_SEQUENCE && others.length === 0 ? readDer(sequence.content) : undefined;
}

/** A number that is not negative. */
export function readInteger({ tag, content }: DerValue): bigint | undefined {
  const [first] = content;
  if (tag !== DER_INTEGER || first === undefined || first >= 0x80) return undefined;
  return BigInt(`0x${content.toString('hex')}`);
}

/** The other way round, for contents of up to 127 bytes. */
export function writeDer(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.of(tag, content.length), content]);
}

function readHead(bytes: Buffer) {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined) return undefined;
  if (first < LONG_FORM) return { tag, contentAt: 2, length: first };
  const count = first - LONG_FORM;
  if (count < 1 || count > MAX_LENGTH_BYTES || bytes.length < 2 + count) return undefined;
  return { tag, contentAt: 2 + count, length: bytes.readUIntBE(2, count) };
}
