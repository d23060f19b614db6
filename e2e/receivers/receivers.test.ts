import { existsSync } from 'node:fs';
import { classifyResult } from '@hookferry/core/deliver/send-attempt';
import { CertificateAuthority, hasOpenssl } from '@hookferry/core/testing/certificate-authority';
import { createClosables } from '@hookferry/core/testing/closables';
import { until } from '../support/until';
import { receiverKinds } from './catalogue';
import type { Authorities, ReceiverKind, StartedReceiver } from './receiver-kind';
import { SenderProcess } from './sender-process';

const SHORT_MS = 500;
const LONG_MS = 30_000;
/** The limit before a response, and what the kernel may hand over beyond it in one go. */
const MAX_BYTES_READ = 256 * 1024;

const AT_ONCE = 100;
// The first round loads code and fills caches.
const ROUNDS = [10, AT_ONCE, AT_ONCE];
/** A leak of 300 bytes an attempt would be more. */
const MAX_HEAP_GROWTH_BYTES = 2 * 1024 * 1024;
/** A hundred of the gzip bombs, inflated, would be more. */
const MAX_RESIDENT_BYTES = 512 * 1024 * 1024;

/** How many connections two requests take. */
const CONNECTIONS = { kept: 1, stale: 2, closed: expect.any(Number) };

const isLinux = existsSync('/proc/self/fd');
if (!isLinux) console.warn('SKIPPED: receivers that misbehave, because there is no /proc here.');
if (!hasOpenssl) console.warn('SKIPPED: receivers that misbehave in TLS, because there is no openssl here.');
const describeLinux = isLinux ? describe : describe.skip;
const kinds = receiverKinds.filter(({ needsTls }) => hasOpenssl || !needsTls);

describeLinux('the transport', () => {
  const { willClose, closeAll } = createClosables();
  let authorities: Authorities | undefined;
  let sender: SenderProcess;
  let openFilesAtRest: number;

  beforeAll(async () => {
    if (hasOpenssl)
      authorities = { trusted: new CertificateAuthority(), unknown: new CertificateAuthority() };
    sender = new SenderProcess(authorities?.trusted.certFile);
    // Its reply says that it runs.
    await sender.heapBytes();
    openFilesAtRest = sender.openFiles();
  });
  afterEach(closeReceivers);
  afterAll(() => {
    sender.stop();
    authorities?.trusted.remove();
    authorities?.unknown.remove();
  });

  it.each(kinds)('comes to $outcome at "$name", and its connection is $connection', async (kind) => {
    const receiver = await start(kind);
    const attempts = kind.endedBy === 'deadline' ? 1 : 2;
    for (let i = 0; i < attempts; i += 1) {
      const { first, maxBytesRead } = await sender.send(sendingTo(receiver, kind, 1));
      expect({ ...first, outcome: classifyResult(first) }).toMatchObject(expectedOf(kind));
      expect(maxBytesRead).toBeLessThan(MAX_BYTES_READ);
    }
    await waitForConnections(kind.connection === 'kept' ? 1 : 0);
    // What is seen open at one moment may be about to close.
    expect(receiver.connectionCount()).toEqual(CONNECTIONS[kind.connection]);
  });

  it('comes to the same a hundred times at once, and leaves nothing behind', async () => {
    const heapBytes: number[] = [];
    for (const atOnce of ROUNDS) {
      for (const kind of kinds) {
        const receiver = await start(kind);
        const { outcomes } = await sender.send(sendingTo(receiver, kind, atOnce));
        expect({ kind: kind.name, ...atDeadline(kind, outcomes) }).toEqual({
          kind: kind.name,
          [kind.outcome]: atOnce,
        });
        if (kind.connection === 'closed') await waitForConnections(0);
        await closeReceivers();
      }
      heapBytes.push(await sender.heapBytes());
    }
    const [, second = 0] = heapBytes;
    expect((heapBytes.at(-1) ?? Number.NaN) - second).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
    expect(sender.peakResidentBytes()).toBeLessThan(MAX_RESIDENT_BYTES);
  }, 600_000);

  async function start(kind: ReceiverKind): Promise<StartedReceiver> {
    return willClose(await kind.start(authorities));
  }

  async function closeReceivers(): Promise<void> {
    await closeAll();
    await waitForConnections(0);
  }

  /** Until the sender has this many connections: it opens no other files. */
  async function waitForConnections(wished: number): Promise<void> {
    await until(async () => (sender.openFiles() - openFilesAtRest === wished ? true : undefined));
  }
});

function sendingTo({ url }: StartedReceiver, { endedBy, requestBytes }: ReceiverKind, count: number) {
  return { url, count, timeoutMs: endedBy === 'deadline' ? SHORT_MS : LONG_MS, requestBytes };
}

function expectedOf({ outcome, status, retryAfter, error }: ReceiverKind): object {
  if (status !== undefined) return { outcome, status, ...(retryAfter === undefined ? {} : { retryAfter }) };
  return { outcome, error: expect.stringMatching(error ?? /./) };
}

/** On a busy machine the deadline may come before even the connection is there. */
function atDeadline({ endedBy, outcome }: ReceiverKind, outcomes: Readonly<Record<string, number>>) {
  if (endedBy === 'receiver') return outcomes;
  const { connect_timeout: unconnected = 0, ...others } = outcomes;
  return { ...others, [outcome]: (outcome === 'connect_timeout' ? 0 : (others[outcome] ?? 0)) + unconnected };
}
