import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type RecordType = 'A' | 'AAAA';

/**
 * The response of a name server: addresses with their time to live, now or later, no such name, a failure, or
 * nothing. --
 */
export type DnsAnswer =
  | { readonly addresses: readonly string[]; readonly ttlSeconds: number; readonly delayMs?: number }
  | 'no such name'
  | 'failure'
  | 'silence';

export interface DnsServer {
  /** As `address:port`. */
  readonly address: string;
  /** The questions so far, such as `A example.com`. */
  readonly questions: readonly string[];
  close(): Promise<void>;
}

const TYPES: Readonly<Record<number, RecordType>> = { 1: 'A', 28: 'AAAA' };
const RESPONSE = 0x8180;
const RESPONSE_CODES = { 'no such name': 3, failure: 2 };
const HEADER_BYTES = 12;
const POINTER_TO_QUESTION = 0xc00c;
const CLASS_INTERNET = 1;

/** A name server on this machine (RFC 1035, over UDP) with the given responses. */
export async function startDnsServer(
  answer: (name: string, type: RecordType) => DnsAnswer,
): Promise<DnsServer> {
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, bytes } = readQuestion(query);
    questions.push(`${type} ${name}`);
    const given = answer(name, type);
    if (given === 'silence') return;
    const reply = encodeAnswer(query.readUInt16BE(0), bytes, type, given);
    const delayMs = typeof given === 'string' ? 0 : (given.delayMs ?? 0);
    if (delayMs === 0) socket.send(reply, port, address);
    else setTimeout(() => socket.send(reply, port, address), delayMs);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function readQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = TYPES[query.readUInt16BE(at + 1)];
  if (!type) throw new Error('Only A and AAAA are asked for in tests.');
  return { name: labels.join('.').toLowerCase(), type, bytes: query.subarray(HEADER_BYTES, at + 5) };
}

function encodeAnswer(
  id: number,
  question: Buffer,
  type: RecordType,
  given: Exclude<DnsAnswer, 'silence'>,
): Buffer {
  const code = typeof given === 'string' ? RESPONSE_CODES[given] : 0;
  const records =
    typeof given === 'string'
      ? []
      : given.addresses
          .filter((address) => isIPv4(address) === (type === 'A'))
          .map((address) => encodeRecord(type, bytesOf(address), given.ttlSeconds));
  const header = Buffer.alloc(HEADER_BYTES);
  [id, RESPONSE | code, 1, records.length].forEach((value, i) => header.writeUInt16BE(value, i * 2));
  return Buffer.concat([header, question, ...records]);
}

function encodeRecord(type: RecordType, address: Buffer, ttlSeconds: number): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  head.writeUInt16BE(POINTER_TO_QUESTION, 0);
  head.writeUInt16BE(type === 'A' ? 1 : 28, 2);
  head.writeUInt16BE(CLASS_INTERNET, 4);
  head.writeUInt32BE(ttlSeconds, 6);
  head.writeUInt16BE(address.length, 10);
  return Buffer.concat([head, address]);
}

function bytesOf(address: string): Buffer {
  return Buffer.from(ipaddr.parse(address).toByteArray());
}
