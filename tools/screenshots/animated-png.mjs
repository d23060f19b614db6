// @ts-check
import { crc32 } from 'node:zlib';
import { Problem } from '../problem.mjs';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MILLISECONDS = 1_000;

/**
 * One PNG that shows others in turn, without end: browsers and GitHub play it, whatever else shows the first one.
 * https://www.w3.org/TR/png-3/#apng-frame-based-animation
 * @param {readonly { png: Buffer, delayMs: number }[]} frames All of the same size and form.
 * @returns {Buffer}
 */
export function animatePng(frames) {
  const read = frames.map(({ png, delayMs }) => ({ ...partsOf(png), delayMs }));
  const [first] = read;
  if (!first) throw new Problem('A moving picture needs a frame.');
  if (read.some(({ header }) => !header.equals(first.header)))
    throw new Problem('The frames differ in size.');
  let sequence = 0;
  const chunks = read.flatMap(({ data, delayMs }, i) => {
    const control = chunk('fcTL', controlOf(first.header, sequence++, delayMs));
    if (i === 0) return [control, ...data.map((part) => chunk('IDAT', part))];
    return [control, ...data.map((part) => chunk('fdAT', Buffer.concat([uint32(sequence++), part])))];
  });
  const animation = chunk('acTL', Buffer.concat([uint32(frames.length), uint32(0)]));
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', first.header),
    animation,
    ...chunks,
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * @param {Buffer} png
 * @returns {{ header: Buffer, data: readonly Buffer[] }}
 */
function partsOf(png) {
  /** @type {Buffer} */
  let header = Buffer.alloc(0);
  const data = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const kind = png.toString('latin1', at + 4, at + 8);
    const content = png.subarray(at + 8, at + 8 + length);
    if (kind === 'IHDR') header = content;
    if (kind === 'IDAT') data.push(content);
    at += length + 12;
  }
  return { header, data };
}

/**
 * The whole picture is replaced.
 * @param {Buffer} header
 * @param {number} sequence
 * @param {number} delayMs
 */
function controlOf(header, sequence, delayMs) {
  const control = Buffer.alloc(26);
  control.writeUInt32BE(sequence, 0);
  header.copy(control, 4, 0, 8);
  control.writeUInt16BE(delayMs, 20);
  control.writeUInt16BE(MILLISECONDS, 22);
  return control;
}

/**
 * @param {string} kind
 * @param {Buffer} content
 */
function chunk(kind, content) {
  const named = Buffer.concat([Buffer.from(kind, 'latin1'), content]);
  return Buffer.concat([uint32(content.length), named, uint32(crc32(named))]);
}

/** @param {number} value */
function uint32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
